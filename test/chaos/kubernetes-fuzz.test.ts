import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { request } from 'node:https';
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
import { sweep } from './fuzz/sweep.ts';
import { HttpShower } from './kubernetes-fuzz/http-shower.ts';
import { createChance } from './random.ts';

const requests = effort(5_000, 100_000);
/** What is compiled, cached and pooled comes first; only what comes after it is a leak. */
const warmUp = effort(2_500, 20_000);
/** Between two looks at the canary. */
const gust = effort(1_250, 2_000);
const maxGrowthMiB = { anonymous: 64, used: 16 };
/** However much is thrown at the server, one that behaves is answered within it. */
const canaryMs = 10_000;

let dataDir: string;
let server: FuzzedServer;
let client: Client;
let admin: ConnectOptions;
let targets: ConnectOptions[];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'berth-kubernetes-fuzz-'));
  const [grpc, http] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  server = await startFuzzedServer(dataDir, grpc, http);
  const read = (file: string): Promise<string> => readFile(join(dataDir, 'pki', file), 'utf8');
  const ca = await read('ca.crt');
  const certificate = { cert: await read('admin.crt'), key: await read('admin.key') };
  const node = await issueNodeCredentials(dataDir, 'n1');
  admin = { address: http, ca, ...certificate };
  targets = [
    admin,
    { address: http, ca, token: (await read('admin.token')).trim() },
    { address: http, ca, cert: await readFile(node.certificate, 'utf8'), key: await readFile(node.key, 'utf8') },
    { address: http, ca, token: 'wrong' },
    { address: http, ca },
  ];
  client = connect({ address: grpc, ca, ...certificate });
});
afterEach(async () => {
  client?.close();
  await server?.kill();
  await rm(dataDir, { recursive: true, force: true });
});

/** A GET on a connection of its own; rejects when it takes too long. */
async function get(path: string): Promise<{ readonly code: number; readonly text: string }> {
  const { address, ca, cert, key } = admin;
  const [host, port] = address.split(':');
  return new Promise((resolve, reject) => {
    const options = { host, port, path, ca, cert, key, agent: false, signal: AbortSignal.timeout(canaryMs) };
    const call = request(options, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString('utf8');
      });
      response.on('end', () => resolve({ code: response.statusCode!, text }));
      response.on('error', reject);
    });
    call.on('error', reject);
    call.end();
  });
}

/** The canary through the door that is fuzzed. */
async function listen(): Promise<void> {
  const { code, text } = await get('/api/v1/namespaces/canary/configmaps/canary');
  expect([code, JSON.parse(text).data.feathers]).toEqual([200, 'yellow']);
}

/** What is charged to callers when none is there but the one that asks. */
async function charged(): Promise<Readonly<Record<string, number>>> {
  const { text } = await get('/metrics');
  const sum = (start: string): number =>
    text
      .split('\n')
      .filter((line) => line.startsWith(start))
      .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  return {
    streams: sum('apiserver_longrunning_requests'),
    calls: sum('apiserver_current_inflight_requests') - 1,
    answers: sum('berth_apiserver_answer_bytes'),
    lists: sum('berth_apiserver_list_bytes'),
    anonymous: sum('berth_apiserver_anonymous_calls'),
    unauthenticated: sum('berth_apiserver_unauthenticated_streams'),
  };
}

async function measureAtRest(): Promise<Awaited<ReturnType<FuzzedServer['measure']>>> {
  await sweep(client);
  return server.measure();
}

it(
  'whatever is thrown at the HTTP door is answered: no crash, no 500, no growth, nothing stays charged',
  async () => {
    const shower = new HttpShower(targets, createChance('kubernetes-fuzz'));
    const canary = new Canary(client);
    await canary.begin();
    const rainUntil = async (count: number): Promise<void> => {
      while (shower.tally.requests < count) {
        await Promise.race([shower.rain(Math.min(gust, count - shower.tally.requests)), server.ended]);
        await canary.sing();
        await listen();
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
    printCounts('kubernetes-fuzz', {
      requests: tally.requests,
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
    // Some of each sort got through to the end.
    for (const code of [200, 201, 400, 401, 403, 404, 405, 406, 415, 422])
      expect(tally.byCode[code], `${code}`).toBeGreaterThan(0);
    const nothing = { streams: 0, calls: 0, answers: 0, lists: 0, anonymous: 0, unauthenticated: 0 };
    await expect.poll(charged, { timeout: 60_000 }).toEqual(nothing);
    expect(after.anonymous - before.anonymous, 'growth of anonymous memory in MiB').toBeLessThan(maxGrowthMiB.anonymous);
    expect(after.used - before.used, 'growth of what the runtime uses in MiB').toBeLessThan(maxGrowthMiB.used);
  },
  effort(600_000, 7_200_000),
);
