import { createSocket } from 'node:dgram';
import { rm } from 'node:fs/promises';
import { connect as dial, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { parseAddressRange } from '../../api/meta/address-range.ts';
import type { Client, NetworkPolicy, Pod, Service } from '../../client/index.ts';
import { containersOf, eventually, forceRemove, freePort, run } from '../e2e/installation.ts';
import { createRunFolder, removeAbandoned } from './abandoned.ts';
import { printCounts } from './counts.ts';
import { effort, isLong } from './effort.ts';
import { differencesBetween, leaksBetween, type NetworkAccount, othersHere, takeNetworkAccount } from './network-account.ts';
import { image, namespace } from './pod-churn.ts';
import { type BerthProcess, connectAdmin, startAgent, startServer } from './processes.ts';
import { type Chance, createChance } from './random.ts';

// Pods of the routed network that come and go, with connections, Services and policies, while the agent is killed now
// and then: the machine is as it was afterwards.
const rounds = effort(6, 1_000);
/** Rounds in which the agent is killed: the first, and every so many. */
const killEvery = 10;
/** Every so many rounds the whole is compared. */
const settleEvery = effort(rounds, 20);
const podsEach = 4;
/** So few addresses that one that leaks in every round is missed soon: 13 for pods. */
const podRange = '10.42.0.0/28';
const serviceRange = '10.43.0.0/16';
const longestMs = 1_500;
const patienceMs = 120_000;
/** Less than conntrack keeps what has ended by itself, two minutes. */
const settledMs = 90_000;
const launcher = fileURLToPath(new URL('../../bin/berth', import.meta.url));

let dataDir: string;
let address: string;
let nodeName: string;
let server: BerthProcess;
let agent: BerthProcess;
let client: Client;
/** Before Berth was on the machine. */
let atFirst: NetworkAccount;
let othersAtFirst: string[];
const held: Socket[] = [];

const account = (): Promise<NetworkAccount> =>
  takeNetworkAccount({
    nodeDir: join(dataDir, 'node', nodeName),
    pods: parseAddressRange(podRange),
    services: parseAddressRange(serviceRange),
    withKept: isLong,
  });

const start = (): BerthProcess => startAgent(dataDir, address, nodeName, { flags: ['--pod-network', 'routed'] });
const names = Array.from({ length: podsEach }, (_, index) => `p${index}`);

const podOf = (name: string): Pod => ({
  metadata: { namespace, name, labels: { app: 'leak', name } },
  spec: {
    nodeName,
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: 'main',
        image,
        imagePullPolicy: 'IfNotPresent',
        command: ['sh', '-c', 'trap "exit 0" TERM; httpd -f -p 80 -h / & wait'],
        // One of them has a port of the machine.
        ports: [{ containerPort: 80, ...(name === names[0] && { hostPort: 20_000 + (process.pid % 5_000) }) }],
      },
    ],
  },
});
const service: Service = {
  metadata: { namespace, name: 'leak' },
  spec: {
    selector: { app: 'leak' },
    ports: [
      { name: 'http', port: 80 },
      { name: 'udp', port: 81, protocol: 'UDP' },
    ],
  },
};
const policy: NetworkPolicy = {
  metadata: { namespace, name: 'leak' },
  spec: {
    podSelector: { matchLabels: { app: 'leak' } },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [{ from: [{ podSelector: { matchLabels: { name: 'p1' } } }, { ipBlock: { cidr: '0.0.0.0/0' } }] }],
  },
};

const pods = async (): Promise<Pod[]> => (await client.pods.list({ namespace })).items;

async function allReady(round: number): Promise<string[]> {
  return eventually(
    `round ${round}: all pods are ready`,
    async () => {
      const all = await pods();
      if (all.length === podsEach && all.every(isPodReady)) return all.map(({ status }) => status?.podIP ?? '');
      throw new Error(JSON.stringify(all.map(({ metadata, status }) => [metadata?.name, status])));
    },
    patienceMs,
  );
}

async function allGone(round: number): Promise<void> {
  await eventually(
    `round ${round}: all pods are gone`,
    async () => {
      const left = await pods();
      if (left.length === 0) return true;
      throw new Error(left.map(({ metadata, status }) => `${metadata?.name} ${JSON.stringify(status)}`).join('\n'));
    },
    patienceMs,
  );
}

/** Leaves traces of each pod in conntrack: a connection that stays open, and a datagram. Also by the Service. */
async function touch(addresses: readonly string[]): Promise<void> {
  const { clusterIP = '' } = (await client.services.get({ namespace, name: 'leak' })).spec ?? {};
  const socket = createSocket('udp4').on('error', () => undefined);
  for (const each of [...addresses, clusterIP]) {
    held.push(dial(80, each).on('error', () => undefined));
    await new Promise((resolve) => socket.send('x', 81, each, resolve));
  }
  socket.close();
  await eventually('the connections are open', async () => (held.every((each) => !each.connecting) ? true : undefined));
}

/** After a random while the agent dies; another one follows. */
async function killSoon(chance: Chance): Promise<void> {
  await delay(chance.below(longestMs));
  await agent.kill();
  agent = start();
}

async function playRound(round: number, chance: Chance): Promise<number> {
  const isKilled = round % killEvery === 1;
  const isAtStart = chance.next() < 0.5;
  await Promise.all(names.map((name) => client.pods.create(podOf(name))));
  if (isKilled && isAtStart) await killSoon(chance);
  await touch(await allReady(round));
  const gracePeriodSeconds = chance.pick([0, 1, 1]);
  await Promise.all(names.map((name) => client.pods.delete({ namespace, name }, { gracePeriodSeconds })));
  if (isKilled && !isAtStart) await killSoon(chance);
  await allGone(round);
  for (const each of held.splice(0)) each.destroy();
  return Number(isKilled);
}

async function nothingCame(what: string, before: NetworkAccount, compare = leaksBetween): Promise<void> {
  await eventually(
    what,
    async () => {
      const leaks = compare(before, await account());
      if (leaks.length === 0) return true;
      throw new Error(leaks.join('\n'));
    },
    settledMs,
  );
}

beforeAll(async () => {
  await removeAbandoned();
  dataDir = await createRunFolder('network-leaks');
  address = `127.0.0.1:${await freePort()}`;
  nodeName = `chaos-leaks-${process.pid}`;
  othersAtFirst = await othersHere(nodeName);
  atFirst = await account();
  server = await startServer(dataDir, address, '--cluster-cidr', '10.42.0.0/24', '--node-cidr-mask-size', '28');
  client = await connectAdmin(dataDir, address);
  agent = start();
});
afterAll(async () => {
  client?.close();
  await agent?.kill();
  await server?.kill();
  await run(process.execPath, [launcher, 'down', '--purge', '--yes', '--data-dir', dataDir]);
  await forceRemove((await containersOf(nodeName)).map((each) => each.id));
  await rm(dataDir, { recursive: true, force: true });
});

it('pods that come and go leave no link, address, rule, route, namespace or connection, also when the agent dies', async () => {
  const chance = createChance('network leaks');
  await client.services.create(service);
  await client.networkPolicies.create(policy);
  // What stays is there once the first pods were.
  await playRound(0, chance);
  const before = await eventually('nothing of the first pods is left', async () => {
    const now = await account();
    const left = leaksBetween(atFirst, now).filter((each) => /^(namespaces|connections|kept):/.test(each));
    return left.length === 0 ? now : undefined;
  });
  let kills = 0;
  for (let round = 1; round <= rounds; round++) {
    kills += await playRound(round, chance);
    if (round % settleEvery === 0) await nothingCame(`round ${round}: nothing of the pods is left`, before);
  }
  printCounts('network leaks', { rounds, kills, pods: rounds * podsEach, leaks: 0 });
  expect(kills).toBeGreaterThan(0);
});

it('leaves the machine as it was when it is purged', async () => {
  await agent.kill();
  await server.kill();
  const { code, stderr } = await run(process.execPath, [launcher, 'down', '--purge', '--yes', '--data-dir', dataDir]);
  expect(code, stderr).toBe(0);
  // Others change the machine as well; alone on it, nothing may be gone either.
  const others = [...othersAtFirst, ...(await othersHere(nodeName))];
  if (others.length > 0) console.log(`network leaks: only what came is looked at beside ${others.join(', ')}`);
  await nothingCame('the machine is as before', atFirst, others.length > 0 ? leaksBetween : differencesBetween);
});
