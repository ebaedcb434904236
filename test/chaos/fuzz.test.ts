import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { issueNodeCredentials } from '../../apiserver/main.ts';
import { type Client, type ConnectOptions, connect } from '../../client/index.ts';
import { freePort } from '../e2e/installation.ts';
import { printCounts } from './counts.ts';
import { effort } from './effort.ts';
import { Canary } from './fuzz/canary.ts';
import { type FuzzedServer, startFuzzedServer } from './fuzz/fuzzed-server.ts';
import { allMethods } from './fuzz/methods.ts';
import { Shower } from './fuzz/shower.ts';
import { sweep } from './fuzz/sweep.ts';
import { createChance } from './random.ts';

const requests = effort(19_000, 220_000);
/** What is compiled, cached and pooled comes first, each method several times; only what comes after it is a leak. */
const warmUp = effort(7_000, 30_000);
/** Between two looks at the canary. */
const gust = 2_000;
/** A leak of 1 KiB a request is 190 MiB in the long form. */
const maxGrowthMiB = { anonymous: 64, used: 16 };

let dataDir: string;
let server: FuzzedServer;
let client: Client;
let targets: ConnectOptions[];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'berth-fuzz-'));
  const address = `127.0.0.1:${await freePort()}`;
  server = await startFuzzedServer(dataDir, address);
  const read = (file: string): Promise<string> => readFile(join(dataDir, 'pki', file), 'utf8');
  const ca = await read('ca.crt');
  const admin = { address, ca, cert: await read('admin.crt'), key: await read('admin.key') };
  const node = await issueNodeCredentials(dataDir, 'n1');
  targets = [
    admin,
    { address, ca, token: (await read('admin.token')).trim() },
    { address, ca, cert: await readFile(node.certificate, 'utf8'), key: await readFile(node.key, 'utf8') },
    { address, ca, token: 'wrong' },
    { address, ca },
  ];
  client = connect(admin);
});
afterEach(async () => {
  client?.close();
  await server?.kill();
  await rm(dataDir, { recursive: true, force: true });
});

/** Everything that was made goes, and calls that were left are given up. */
async function measureAtRest(): Promise<Awaited<ReturnType<FuzzedServer['measure']>>> {
  await sweep(client);
  return server.measure();
}

it(
  'whatever is thrown at any method is answered: no crash, no INTERNAL, no growth, and who behaves never notices',
  async () => {
    const chance = createChance('fuzz');
    const shower = new Shower(targets, chance);
    const canary = new Canary(client);
    await canary.begin();
    const rainUntil = async (count: number): Promise<void> => {
      while (shower.tally.requests < count) {
        await Promise.race([shower.rain(Math.min(gust, count - shower.tally.requests)), server.ended]);
        await canary.sing();
      }
    };
    await rainUntil(warmUp);
    const before = await measureAtRest();
    await rainUntil(requests);
    shower.close();
    const after = await measureAtRest();
    await canary.sing();
    await canary.end();

    const { tally } = shower;
    const methods = allMethods().map(({ path }) => path);
    printCounts('fuzz', {
      requests: tally.requests,
      methods: methods.length,
      ...tally.byKind,
      ...tally.byCode,
      faults: tally.faults.length,
      'MiB anonymous before': before.anonymous,
      'MiB anonymous after': after.anonymous,
      'MiB used before': before.used,
      'MiB used after': after.used,
    });
    expect(server.faults().slice(0, 20)).toEqual([]);
    expect(tally.faults.slice(0, 20)).toEqual([]);
    expect(methods.filter((path) => !tally.byMethod.has(path))).toEqual([]);
    // Some of each sort got through to the end.
    for (const code of [
      'OK',
      'INVALID_ARGUMENT',
      'NOT_FOUND',
      'ALREADY_EXISTS',
      'ABORTED',
      'UNAUTHENTICATED',
      'PERMISSION_DENIED',
    ])
      expect(tally.byCode[code], code).toBeGreaterThan(0);
    expect(after.anonymous - before.anonymous, 'growth of anonymous memory in MiB').toBeLessThan(maxGrowthMiB.anonymous);
    expect(after.used - before.used, 'growth of what the runtime uses in MiB').toBeLessThan(maxGrowthMiB.used);
  },
  effort(600_000, 3_600_000),
);
