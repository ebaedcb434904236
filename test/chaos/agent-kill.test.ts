import { rm } from 'node:fs/promises';
import { connect as dial } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Client, Pod } from '../../client/index.ts';
import { containersOf, eventually, forceRemove, freePort, run } from '../e2e/installation.ts';
import { unmountBelow } from '../e2e/private-engine.ts';
import { createRunFolder, removeAbandoned, removeNetworks } from './abandoned.ts';
import { printCounts } from './counts.ts';
import { effort } from './effort.ts';
import { type Account, expectUnchanged, takeAccount } from './machine-account.ts';
import { type Churn, createChurn, createMounted, image, isReady, namespace, stay } from './pod-churn.ts';
import { type BerthProcess, connectAdmin, startAgent, startServer } from './processes.ts';
import { createChance } from './random.ts';

// An agent that is killed at any moment, over and over, while pods come and go.
// It never makes anything twice and never leaves anything.
const rounds = effort(12, 200);
/** Every so many rounds everything is looked at. */
const settleEvery = 4;
/** Some die while they start, some in the middle of work, some when it is done. */
const longestLifeMs = 3_000;

let dataDir: string;
let address: string;
let nodeName: string;
let hostPorts: number[];
let server: BerthProcess;
let agent: BerthProcess;
let client: Client;
let before: Account;
let churn: Churn;

const account = () => takeAccount({ dataDir, nodeName, hostPorts });

beforeAll(async () => {
  await removeAbandoned();
  dataDir = await createRunFolder('agent-kill');
  address = `127.0.0.1:${await freePort()}`;
  nodeName = `chaos-agent-${process.pid}`;
  // Not from the range that the kernel gives to connections: one of those in the middle of the test would hold it.
  hostPorts = [20_000 + (process.pid % 5_000), 25_000 + (process.pid % 5_000)];
  before = await account();
  server = await startServer(dataDir, address);
  client = await connectAdmin(dataDir, address);
  await createMounted(client);
  churn = createChurn({ client, hostPorts, account, before, page, mayRestart: false });
  agent = startAgent(dataDir, address, nodeName);
});
afterAll(async () => {
  client?.close();
  await agent?.kill();
  await server?.kill();
  const left = (await containersOf(nodeName)).map((each) => each.id);
  await forceRemove(left);
  await removeNetworks(dataDir);
  await unmountBelow(dataDir);
  await rm(dataDir, { recursive: true, force: true });
});

const get = (name: string) => client.pods.get({ namespace, name });

function page(port: number): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket = dial(port, '127.0.0.1', () => socket.write('GET / HTTP/1.0\r\n\r\n'));
    socket.on('data', (chunk) => (text += chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(text));
  });
}

it('exactly one copy of each container, and nothing left of those that went, however often the agent is killed', async () => {
  const chance = createChance('agent killed');
  await churn.createAll();
  for (let round = 1; round <= rounds; round++) {
    const settles = round % settleEvery === 0;
    await churn.round(chance, longestLifeMs, settles, async () => {
      await agent.kill();
      return async () => {
        agent = startAgent(dataDir, address, nodeName);
      };
    });
    if (settles) await churn.settle(round);
  }
  await churn.clear();
  printCounts('agent killed', { kills: rounds, violations: 0 });
});

it('what ended while the agent was dead is told when it is back, and made good', async () => {
  const plain = (name: string, restartPolicy: string): Pod => ({
    metadata: { namespace, name },
    spec: {
      restartPolicy,
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'main', image, command: ['sh', '-c', stay], imagePullPolicy: 'IfNotPresent' }],
    },
  });
  const until = (name: string, what: string, test: (pod: Pod) => boolean) =>
    eventually(`pod ${name} ${what}`, async () => {
      const pod = await get(name);
      if (test(pod)) return pod;
      throw new Error(JSON.stringify(pod.status));
    });
  const kept = { restarts: 'Always', ends: 'Never', loses: 'Always', untouched: 'Always' };
  for (const [name, policy] of Object.entries(kept)) await client.pods.create(plain(name, policy));
  for (const name of Object.keys(kept)) await until(name, 'is ready', isReady);
  const running = await containersOf(nodeName);
  const idOf = (pod: string, container: string) =>
    running.find((each) => each.pod === pod && each.container === container)?.id ?? 'none';

  await agent.kill();
  const killed = [idOf('restarts', 'main'), idOf('ends', 'main'), idOf('loses', 'POD')];
  expect((await run('docker', ['kill', ...killed])).code).toBe(0);
  agent = startAgent(dataDir, address, nodeName);

  const ended = { exitCode: 137, reason: 'Error', containerID: `docker://${idOf('restarts', 'main')}` };
  const restarted = await until('restarts', 'was restarted', (pod) => pod.status?.containerStatuses?.[0]?.restartCount === 1);
  expect(restarted.status?.containerStatuses?.[0]?.lastState?.terminated).toMatchObject(ended);
  const failed = await until('ends', 'has failed', (pod) => pod.status?.phase === 'Failed');
  expect(failed.status?.containerStatuses?.[0]).toMatchObject({
    restartCount: 0,
    state: { terminated: { exitCode: 137, reason: 'Error', containerID: `docker://${idOf('ends', 'main')}` } },
  });
  const moved = await until('loses', 'runs in a new sandbox', (pod) => {
    return isReady(pod) && pod.status?.containerStatuses?.[0]?.restartCount === 1;
  });
  expect(moved.status?.podIP).toBeTruthy();
  const untouched = await get('untouched');
  expect(untouched.status?.containerStatuses?.[0]).toMatchObject({
    restartCount: 0,
    containerID: `docker://${idOf('untouched', 'main')}`,
  });
  await eventually('every container runs once', async () => {
    const alive = (await containersOf(nodeName)).filter((each) => each.state === 'running');
    const there = alive.map((each) => `${each.pod}/${each.container}`).sort();
    expect(there).toEqual(['loses', 'restarts', 'untouched'].flatMap((pod) => [`${pod}/POD`, `${pod}/main`]));
    return true;
  });
  await Promise.all(Object.keys(kept).map((name) => client.pods.delete({ namespace, name })));
  await eventually('all pods are gone', async () =>
    (await client.pods.list({ namespace })).items.length === 0 ? true : undefined,
  );
  await eventually('the machine is as it was', async () => {
    expectUnchanged(before, await account());
    return true;
  });
});
