import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Client, connect } from '../../client/index.ts';
import { freePort } from '../e2e/installation.ts';
import { printCounts } from './counts.ts';
import { effort } from './effort.ts';
import { checkLinearizable } from './linearizable/checker.ts';
import { type Carrier, Registers } from './linearizable/clients.ts';
import { type BerthProcess, startServer } from './processes.ts';
import { createChance } from './random.ts';

const clientCount = 8;
/** Few, so that the clients meet at each of them. */
const objectCount = 4;
/** Of each client to each group of objects; the search for an order grows with it. */
const operationsPerClient = 50;
/** A client that was not killed at least this long into a group has met the others. */
const longestLifeMs = 250;
const flags = ['--no-scheduler', '--no-controllers'];

let dataDir: string;
let address: string;
let server: BerthProcess | undefined;
let clients: Client[] = [];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'berth-linearizable-'));
  address = `127.0.0.1:${await freePort()}`;
});
afterEach(async () => {
  disconnect();
  await server?.kill();
  await rm(dataDir, { recursive: true, force: true });
});

/** Each client has a connection of its own. */
async function start(backend: string): Promise<void> {
  disconnect();
  server = await startServer(dataDir, address, '--backend', backend, ...flags);
  const read = (file: string): Promise<string> => readFile(join(dataDir, 'pki', file), 'utf8');
  const target = { address, ca: await read('ca.crt'), cert: await read('admin.crt'), key: await read('admin.key') };
  clients = Array.from({ length: clientCount }, () => connect(target));
  await Promise.all(clients.map((client) => client.namespaces.get({ name: 'default' })));
}

function disconnect(): void {
  for (const client of clients) client.close();
  clients = [];
}

/** Every client does its operations, or as many as it can until the server is gone. */
async function operate(registers: Registers): Promise<void> {
  const one = async (client: Client): Promise<void> => {
    for (let i = 0; i < operationsPerClient; i++) if (!(await registers.operate(client))) return;
  };
  await Promise.all(clients.map(one));
}

interface Run {
  readonly backend: string;
  readonly carrier: Carrier;
  readonly groups: number;
  /** In each group. */
  readonly kills: number;
}

async function run({ backend, carrier, groups, kills }: Run): Promise<void> {
  const title = `linearizability: ${carrier} in ${backend}${kills > 0 ? ', killed' : ''}`;
  const chance = createChance(title);
  const violations: string[] = [];
  const counts = { groups, kills: 0, operations: 0, 'without an answer': 0, 'objects checked': 0 };
  await start(backend);
  for (let group = 0; group < groups; group++) {
    const registers = new Registers(`g${group}`, objectCount, carrier, chance);
    for (let kill = 0; kill < kills; kill++) {
      const operating = operate(registers);
      await Promise.race([operating, delay(chance.below(longestLifeMs))]);
      await server?.kill();
      await operating;
      await start(backend);
      counts.kills++;
    }
    await operate(registers);
    if (kills === 0) expect(registers.lost, 'calls without an answer, though nobody was killed').toEqual([]);
    for (const [name, operations] of registers.operations) {
      counts.operations += operations.length;
      counts['without an answer'] += operations.filter(({ answer }) => answer === 'unknown').length;
      counts['objects checked']++;
      const verdict = checkLinearizable(operations);
      if (verdict.ok) continue;
      const { ordered, value, stuck } = verdict;
      violations.push(JSON.stringify({ name, last: ordered.slice(-8), value, stuck }, undefined, 1));
    }
  }
  printCounts(title, { ...counts, violations: violations.length });
  expect(violations[0]).toBeUndefined();
  expect(counts.operations).toBeGreaterThan(groups * clientCount * operationsPerClient * 0.5);
}

const long = 3_600_000;

it.each<[string, Run]>([
  ['memory', { backend: 'memory', carrier: 'ConfigMap', groups: effort(12, 200), kills: 0 }],
  ['lmdb', { backend: 'lmdb', carrier: 'ConfigMap', groups: effort(16, 200), kills: 0 }],
  ['lmdb without a sync', { backend: 'lmdb', carrier: 'Lease', groups: effort(8, 100), kills: 0 }],
  ['lmdb that is killed', { backend: 'lmdb', carrier: 'ConfigMap', groups: effort(10, 100), kills: 2 }],
])(
  'concurrent clients of one object see one order of everything that happens to it: %s',
  async (_, wanted) => run(wanted),
  effort(300_000, long),
);
