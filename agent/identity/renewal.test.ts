import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createFakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { createTestPki } from '../../test/fakes/test-pki.ts';
import { holdCertificate, readIdentity, saveIdentity, splitPem } from './held-certificate.ts';
import { type RenewalFailure, renewalTime, runRenewal } from './renewal.ts';
import type { NodeCertificate } from './request-certificate.ts';

let first: NodeCertificate;
let second: NodeCertificate;
let ca: string;

beforeAll(async () => {
  const pki = await createTestPki();
  const issue = async (): Promise<NodeCertificate> => {
    const { cert, key } = await pki.issue('CN=system:node:n1');
    return { certificate: cert, key };
  };
  ca = pki.ca;
  [first, second] = [await issue(), await issue()];
});

describe('the renewal of a certificate', () => {
  it('is due after 70 to 90 % of its life', () => {
    const at = (random: number) => renewalTime(first, random);
    const life = (at(0.999_999) - at(0)) / 0.2;
    const from = at(0) - 0.7 * life;
    expect(from).toBeLessThan(Date.now());
    expect(Math.round(((at(0.5) - from) / life) * 100)).toBe(80);
  });

  /** A loop that runs, with what it asked for. */
  const start = (answers: {
    readonly request: () => Promise<NodeCertificate>;
    readonly authorities?: () => Promise<string | undefined>;
    /** How long before it is due the clock stands at first. */
    readonly earlyMs?: number;
  }) => {
    const clock = createFakeClock(renewalTime(first, 0.5) - (answers.earlyMs ?? 60_000));
    const saved: (NodeCertificate | string)[] = [];
    const held = holdCertificate({
      first: { ...first, ca },
      save: async (next) => void saved.push(next),
      saveAuthorities: async (next) => void saved.push(next),
    });
    const failures: RenewalFailure[] = [];
    const stop = new AbortController();
    const { request, authorities = async () => undefined } = answers;
    const onFailure = (failure: RenewalFailure) => void failures.push(failure);
    const options = { held, request, authorities, onFailure, clock, random: () => 0.5, logger: createFakeLogger() };
    const running = runRenewal(options, stop.signal);
    const end = (): Promise<void> => {
      stop.abort();
      return running;
    };
    return { clock, held, saved, failures, end };
  };

  it('happens when it is due, is tried again when it fails, and keeps the old one meanwhile', async () => {
    let asked = 0;
    const { clock, held, saved, failures, end } = start({
      request: async () => {
        asked++;
        if (asked < 3) throw new Error('the server is away');
        return second;
      },
    });
    await settle();
    await clock.advance(59_000);
    expect(asked).toBe(0);
    await clock.advance(1_000);
    expect([asked, held.current().certificate]).toEqual([1, first.certificate]);
    expect(failures[0]).toMatchObject({ leftOfLife: expect.closeTo(0.2, 3), error: new Error('the server is away') });
    await clock.advance(30_000);
    expect([asked, held.current(), saved]).toEqual([3, { ...second, ca }, [second]]);
    // That one is due as well, as when the clock is wrong: the server is not asked without a pause.
    await clock.advance(30_000);
    expect(asked).toBe(3);
    await clock.advance(60_000);
    expect(asked).toBe(4);
    await end();
  });

  it('happens at once when another authority signs, which is trusted beside the old one until the server drops that', async () => {
    const other = await createTestPki();
    const issued = await other.issue('CN=system:node:n1');
    const next: NodeCertificate = { certificate: issued.cert, key: issued.key };
    let told = ca;
    let asked = 0;
    const { clock, held, saved, end } = start({
      request: async () => {
        asked++;
        return next;
      },
      authorities: async () => told,
      earlyMs: 3_600_000,
    });
    await clock.advance(15_000);
    expect([asked, saved]).toEqual([0, []]);
    told = `${other.ca}\n${ca}`;
    await clock.advance(5 * 60_000);
    expect(saved).toEqual([told, next]);
    expect(held.current()).toEqual({ ...next, ca: told });
    told = other.ca;
    await clock.advance(10 * 60_000);
    expect([asked, held.current().ca]).toEqual([1, other.ca]);
    await end();
  });

  it.each(['', 'nonsense', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'])(
    'trusts nobody else when the server names no authority: "%s"',
    async (told) => {
      const { clock, held, saved, end } = start({ request: async () => second, authorities: async () => told });
      await clock.advance(20_000);
      expect([held.current().ca, saved]).toEqual([ca, []]);
      await end();
    },
  );
});

describe('what a machine got when it joined', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'berth-identity-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('is kept for its owner alone, read back, and replaced whole', async () => {
    expect(await readIdentity(folder, 'n1')).toBeUndefined();
    await saveIdentity(folder, 'n1', ca, first);
    const identity = await readIdentity(folder, 'n1');
    expect(identity?.authority).toBe(ca);
    await identity?.held.replace(second);
    expect(identity?.held.current()).toEqual({ ...second, ca });
    expect(splitPem(second.certificate + second.key)?.certificate.trim()).toBe(second.certificate.trim());
    expect((await readIdentity(folder, 'n1'))?.held.current().certificate.trim()).toBe(second.certificate.trim());
    const files = await readdir(join(folder, 'pki'));
    expect(files.sort()).toEqual(['ca.crt', 'node-n1.pem']);
    for (const name of files) expect((await stat(join(folder, 'pki', name))).mode & 0o077).toBe(0);
  });

  it.each<[string, () => string]>([
    ['empty', () => ''],
    ['cut off', () => first.certificate],
    ['of two certificates', () => `${first.certificate}\n${second.key}`],
  ])('is refused when the file is %s', async (_, text) => {
    await saveIdentity(folder, 'n1', ca, first);
    await writeFile(join(folder, 'pki', 'node-n1.pem'), text());
    await expect(readIdentity(folder, 'n1')).rejects.toThrow(/node-n1\.pem is damaged.*join again/);
  });

  it('is refused when others may read its key', async () => {
    await saveIdentity(folder, 'n1', ca, first);
    await chmod(join(folder, 'pki', 'node-n1.pem'), 0o640);
    await expect(readIdentity(folder, 'n1')).rejects.toThrow(/mode 640\): chmod 600 .*node-n1\.pem/);
  });
});
