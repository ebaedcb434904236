import { X509Certificate } from 'node:crypto';
import { mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { splitCertificates } from '../../api/meta/authority.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { openAuthorities } from './authorities.ts';
import { describeEnding, runCertificateRenewal } from './certificate-renewal.ts';
import { createAuthority, issueCertificate } from './certificates.ts';
import { HeldCertificates, heldNames, type ServingIdentity } from './held-certificates.ts';

const day = 24 * 3_600_000;
let dir: string;
let at: number;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'berth-certificates-'));
  at = Date.now();
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const open = (hosts: readonly string[] = []) => HeldCertificates.open({ dir, hosts, now: () => new Date(at) });
const file = (name: string) => readFile(join(dir, name), 'utf8');
const certificatesOf = (held: HeldCertificates) => heldNames.map((name) => held.pair(name).certificate);

/** Shakes hands; answers who the server says the client is, or why the client did not trust the server. */
async function shake(
  { certificate: cert, key, ca }: ServingIdentity,
  client: { readonly ca: string; readonly cert?: string; readonly key?: string },
): Promise<string> {
  const server = createServer({ cert, key, ca, requestCert: true, rejectUnauthorized: false }, (socket: TLSSocket) => {
    socket.on('error', () => {});
    socket.end(socket.authorized ? String(socket.getPeerCertificate().subject.CN) : String(socket.authorizationError));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  try {
    return await new Promise<string>((resolve) => {
      const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ...client });
      socket.on('data', (data) => resolve(String(data)));
      socket.on('error', (error: NodeJS.ErrnoException) => resolve(`not trusted: ${error.code}`));
    });
  } finally {
    server.close();
  }
}

describe('the certificates of the server and of what runs beside it', () => {
  it('stay as they are until less than 30 % of their life is left, then all are renewed and observers are told', async () => {
    const held = await open();
    const before = certificatesOf(held);
    let told = 0;
    const leave = held.observe(() => told++);
    at += 255 * day;
    expect(await held.renewDue()).toEqual([]);
    at += day;
    expect(await held.renewDue()).toEqual(heldNames);
    expect([told, certificatesOf(held).filter((each) => before.includes(each))]).toEqual([1, []]);
    expect(await file('scheduler.crt')).toBe(held.pair('scheduler').certificate);
    leave();
    await held.renew(['admin']);
    expect(told).toBe(1);
  });

  it('are made anew by name, the others stay', async () => {
    const held = await open();
    const before = certificatesOf(held);
    expect(await held.renew(['scheduler'])).toEqual(['scheduler']);
    expect(certificatesOf(held).map((each, i) => each === before[i])).toEqual([true, true, false, true]);
  });

  it('are renewed by a loop, which goes on when it fails once', async () => {
    const clock = createFakeClock();
    const stop = new AbortController();
    const answers = [new Error('no space'), ['server'], []];
    let asked = 0;
    const renewDue = async (): Promise<readonly string[]> => {
      const answer = answers[asked++]!;
      if (answer instanceof Error) throw answer;
      return answer as string[];
    };
    const log = createFakeLogger();
    const running = runCertificateRenewal({ certificates: { renewDue, ends: () => [] }, clock, log: log as never }, stop.signal);
    await clock.advance(3 * 3_600_000);
    expect(asked).toBe(3);
    stop.abort();
    await running;
  });

  it('are for the hosts that are given, and made anew for another', async () => {
    await open();
    const held = await open(['berth.example']);
    expect(new X509Certificate(held.pair('server').certificate).checkHost('berth.example')).toBe('berth.example');
  });

  it('are never good for longer than the authority', async () => {
    const now = new Date(at);
    const authority = await createAuthority('ca', new Date(at - 10 * 365 * day + 30 * day));
    const { certificate } = await issueCertificate(authority, { commonName: 'x', organizations: [] }, undefined, now);
    expect(Date.parse(new X509Certificate(certificate).validTo) - at).toBeLessThanOrEqual(30 * day);
  });
});

it('is told of when less than a tenth of its life is left', async () => {
  const held = await open();
  expect(describeEnding(held.ends(), at)).toEqual([]);
  expect(describeEnding(held.ends(), at + 330 * day).map(({ name }) => name)).toEqual(heldNames);
  const told = describeEnding(held.ends(), at + 9.5 * 365 * day);
  expect(told[0]).toEqual({ name: 'ca', text: expect.stringMatching(/authority ends on .*berth certs renew --ca/) });
  expect(told[1]?.text).toMatch(/"server" ended on .*could not be renewed/);
});

describe('a new authority', () => {
  it('counts beside the old one: each client and each server trusts the other, whatever it knows of', async () => {
    const held = await open();
    const [oldCa, old] = [held.trusted(), held.pair('admin')];
    expect(await held.renewAuthority()).toEqual(['ca', ...heldNames]);
    const now = held.pair('admin');
    const clients = { old: { cert: old.certificate, key: old.key }, new: { cert: now.certificate, key: now.key } };
    const [newCa] = splitCertificates(held.trusted());
    for (const ca of [oldCa, newCa!, held.trusted()])
      for (const client of Object.values(clients)) expect(await shake(held.serving(), { ca, ...client })).toBe('admin');
    expect(new X509Certificate(now.certificate).verify(new X509Certificate(newCa!).publicKey)).toBe(true);
    const again = await open();
    expect([again.serving(), again.trusted()]).toEqual([held.serving(), held.trusted()]);
    expect((await stat(join(dir, 'ca.key'))).mode & 0o077).toBe(0);
  });

  it('stands alone once the old one is dropped: who knows only that one, or has its certificate, is out', async () => {
    const held = await open();
    const [oldCa, old] = [held.trusted(), held.pair('admin')];
    await held.renewAuthority();
    await expect(held.renewAuthority()).rejects.toThrow(/taking over already.*drop-ca/);
    expect([await held.dropPrevious(), await held.dropPrevious()]).toEqual([true, false]);
    const { certificate: cert, key } = held.pair('admin');
    expect(await shake(held.serving(), { ca: held.trusted(), cert, key })).toBe('admin');
    expect(await shake(held.serving(), { ca: oldCa, cert, key })).toMatch(/^not trusted/);
    const refused = await shake(held.serving(), { ca: held.trusted(), cert: old.certificate, key: old.key });
    expect(refused).not.toBe('admin');
    expect((await readdir(dir)).filter((name) => name.startsWith('ca')).sort()).toEqual(['ca.crt', 'ca.key']);
    expect(splitCertificates(await file('ca.crt'))).toHaveLength(1);
  });

  it('is alone by itself after a year, when the last certificate of the old one has ended', async () => {
    const held = await open();
    await held.renewAuthority();
    at += 364 * day;
    await held.renewDue();
    expect(splitCertificates(held.trusted())).toHaveLength(2);
    at += 2 * day;
    expect(await held.renewDue()).toContain('the authority before');
    expect(splitCertificates(held.trusted())).toHaveLength(1);
  });

  it('takes over at the next start when the last step was cut off; before that nothing has changed', async () => {
    const first = await open();
    const oldKey = await file('ca.key');
    await first.renewAuthority();
    const newKey = await file('ca.key');
    // As if the last file had not been put in its place.
    await rename(join(dir, 'ca.key'), join(dir, 'ca-next.key'));
    await writeFile(join(dir, 'ca.key'), oldKey);
    const finished = await openAuthorities(dir, new Date(at));
    expect([finished.signer.key, await file('ca.key')]).toEqual([newKey, newKey]);
    // As if only the key had been written.
    await writeFile(join(dir, 'ca-next.key'), oldKey);
    await writeFile(join(dir, 'ca.crt'), finished.signer.certificate);
    expect((await openAuthorities(dir, new Date(at))).signer.key).toBe(newKey);
  });

  it('is refused when key and certificates do not belong together', async () => {
    await open();
    await writeFile(join(dir, 'ca.key'), (await createAuthority('x', new Date(at))).key);
    await expect(open()).rejects.toThrow(/ca\.key: it is the key of no certificate in ca\.crt/);
  });
});
