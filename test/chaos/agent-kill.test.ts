import { mkdtemp, rm } from 'node:fs/promises';
import { connect as dial } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Client, isNotFound, listAll, type Pod } from '../../client/index.ts';
import { containersOf, eventually, freePort, run } from '../e2e/installation.ts';
import { type Account, countsOf, takeAccount } from './machine-account.ts';
import { type BerthProcess, connectAdmin, startAgent, startServer } from './processes.ts';
import { createChance } from './random.ts';

// An agent that is killed at any moment, over and over, while pods come and go. It never makes anything twice and never leaves anything.
const rounds = 24;
/** Every so many rounds everything is looked at. */
const settleEvery = 4;
const podCount = 6;
/** Some die while they start, some in the middle of work, some when it is done. */
const longestLifeMs = 3_000;
const image = 'berth/busybox:latest';
const namespace = 'default';
const stay = 'trap "exit 0" TERM; while :; do sleep 0.2; done';
const names = Array.from({ length: podCount }, (_, index) => `p${index}`);

let dataDir: string;
let address: string;
let nodeName: string;
let hostPorts: number[];
let server: BerthProcess;
let agent: BerthProcess;
let client: Client;
let before: Account;

const account = () => takeAccount({ dataDir, nodeName, hostPorts });

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'berth-agent-kill-'));
  address = `127.0.0.1:${await freePort()}`;
  nodeName = `chaos-agent-${process.pid}`;
  // Not from the range that the kernel gives to connections: one of those in the middle of the test would hold it.
  hostPorts = [20_000 + (process.pid % 5_000), 25_000 + (process.pid % 5_000)];
  before = await account();
  server = await startServer(dataDir, address);
  client = await connectAdmin(dataDir, address);
  await client.configMaps.create({ metadata: { namespace, name: 'files' }, data: { text: 'here' } });
  await client.secrets.create({ metadata: { namespace, name: 'keys' }, stringData: { key: 'secret' } });
  agent = startAgent(dataDir, address, nodeName);
});
afterAll(async () => {
  client?.close();
  await agent?.kill();
  await server?.kill();
  const left = (await containersOf(nodeName)).map((each) => each.id);
  if (left.length > 0) await run('docker', ['rm', '-f', '-v', ...left]);
  for (const path of (await account()).mounts.filter((each) => each.startsWith(dataDir)).toReversed())
    await run('umount', [path]);
  await rm(dataDir, { recursive: true, force: true });
});

/** Two containers and every kind of volume; the first pods also hold a port of the machine. */
function podOf(name: string): Pod {
  const hostPort = hostPorts[names.indexOf(name)];
  const volumeMounts = ['disk', 'memory', 'files', 'keys'].map((each) => ({ name: each, mountPath: `/${each}` }));
  const main = { name: 'main', image, command: ['sh', '-c', stay], imagePullPolicy: 'IfNotPresent', volumeMounts };
  const serve = 'cat /files/text /keys/key >/disk/index.html && exec httpd -f -p 80 -h /disk';
  const web = { ...main, command: ['sh', '-c', serve], ports: [{ containerPort: 80, hostPort }] };
  return {
    metadata: { namespace, name },
    spec: {
      terminationGracePeriodSeconds: 2,
      containers: [hostPort === undefined ? main : web, { ...main, name: 'side' }],
      volumes: [
        { name: 'disk', volumeSource: { emptyDir: {} } },
        { name: 'memory', volumeSource: { emptyDir: { medium: 'Memory' } } },
        { name: 'files', volumeSource: { configMap: { localObjectReference: { name: 'files' } } } },
        { name: 'keys', volumeSource: { secret: { secretName: 'keys' } } },
      ],
    },
  };
}

const pods = async (): Promise<Pod[]> => (await listAll(client.pods, { namespace })).items;

/** Asks for a pod, as far as its predecessor of the same name is gone already. */
async function create(name: string): Promise<void> {
  await client.pods.create(podOf(name)).catch((error: unknown) => {
    if ((error as { code?: string }).code !== 'ALREADY_EXISTS') throw error;
  });
}

async function remove(name: string, gracePeriodSeconds?: number): Promise<void> {
  await client.pods
    .delete({ namespace, name }, gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds })
    .catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
}

const isReady = (pod: Pod): boolean =>
  pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;

/** Waits until nobody is on the way in or out; every container there is, is there once. */
async function settle(round: number): Promise<void> {
  const wanted = await eventually(
    `round ${round}: all pods run or are gone`,
    async () => {
      const all = await pods();
      const late = all.filter((pod) => pod.metadata?.deletionTimestamp !== undefined || !isReady(pod));
      if (late.length > 0) throw new Error(late.map((pod) => JSON.stringify([pod.metadata?.name, pod.status])).join('\n'));
      return all;
    },
    120_000,
  );
  const expected = wanted.flatMap((pod) => ['POD', 'main', 'side'].map((each) => `${pod.metadata?.name} ${each} running`));
  await eventually(`round ${round}: every container is there once, and no other`, async () => {
    const now = await account();
    const there = now.containers.map((each) => each.replace('/', ' '));
    // As texts: the difference is seen in the error.
    expect(there.join(', ')).toBe(expected.sort().join(', '));
    expect(now.folders).toEqual(wanted.map((pod) => pod.metadata?.uid).sort());
    expect(now.endpoints).toHaveLength(before.endpoints.length + wanted.length);
    expect(now.links).toHaveLength(before.links.length + wanted.length);
    return true;
  });
  for (const pod of wanted)
    for (const { restartCount } of pod.status?.containerStatuses ?? []) expect(restartCount, `${pod.metadata?.name}`).toBe(0);
  for (const port of hostPorts.filter((_, index) => wanted.some((pod) => pod.metadata?.name === names[index])))
    expect(await page(port)).toContain('heresecret');
  process.stdout.write(`round ${round}: ${wanted.length} pods; ${countsOf(await account())}\n`);
}

function page(port: number): Promise<string> {
  return eventually(`the page on host port ${port}`, async () => {
    const socket = dial(port, '127.0.0.1');
    socket.write('GET / HTTP/1.0\r\n\r\n');
    let text = '';
    for await (const chunk of socket) text += chunk;
    return text.includes('200 OK') ? text : undefined;
  });
}

it('exactly one copy of each container, and nothing left of those that went, however often the agent is killed', async () => {
  const chance = createChance('agent killed');
  for (const name of names) await create(name);
  for (let round = 1; round <= rounds; round++) {
    const some = names.filter(() => chance.next() < 0.5);
    const settles = round % settleEvery === 0;
    const what = settles ? 'create' : chance.pick(['delete', 'recreate', 'replace by force', 'delete while it is dead'] as const);
    const whileDead = what === 'delete while it is dead';
    if (what === 'delete' || what === 'recreate') await Promise.all(some.map((name) => remove(name)));
    if (what === 'replace by force') await Promise.all(some.map((name) => remove(name, 0)));
    if (!whileDead)
      await Promise.all(names.filter((name) => what !== 'delete' || !some.includes(name)).map((name) => create(name)));
    await delay(chance.below(longestLifeMs));
    await agent.kill();
    if (whileDead) await Promise.all(some.map((name) => remove(name, chance.pick([undefined, 0, 1]))));
    if (whileDead) await Promise.all(some.map((name) => create(name)));
    agent = startAgent(dataDir, address, nodeName);
    if (settles) await settle(round);
  }

  await Promise.all(names.map((name) => remove(name)));
  await eventually('all pods are gone', async () => ((await pods()).length === 0 ? true : undefined), 120_000);
  const after = await eventually('the machine is as it was', async () => {
    const now = await account();
    expect(now).toEqual(before);
    return now;
  });
  process.stdout.write(`before: ${countsOf(before)}\nafter:  ${countsOf(after)}\n`);
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
  const get = (name: string) => client.pods.get({ namespace, name });
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
  await Promise.all(Object.keys(kept).map((name) => remove(name)));
  await eventually('all pods are gone', async () => ((await pods()).length === 0 ? true : undefined));
  await eventually('the machine is as it was', async () => {
    expect(await account()).toEqual(before);
    return true;
  });
});
