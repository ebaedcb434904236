import { beforeEach, expect, test } from 'vitest';
import type { Container, Pod } from '../../api/generated/types.ts';
import { pod } from '../builders/index.ts';
import { image, isGone, isRunning, podWhere, until } from './agent-harness.ts';
import { houseAgent } from './agent-house.ts';

let usedMemory = 0;
beforeEach(() => {
  usedMemory = 0;
});
const house = houseAgent('n', { memoryUsage: () => usedMemory });

const at = (name: string) => ({ namespace: 'default', name });
const amounts = (cpu: string, memory: string) => ({ cpu: { string: cpu }, memory: { string: memory } });
const mebi = 1024 * 1024;

async function run(name: string, container: Container): Promise<Pod> {
  await house.create(
    pod(name)
      .on(house.node)
      .container('app', { image, ...container }),
  );
  return podWhere(house.server.client, name, isRunning);
}

const resize = (name: string, resources: object) =>
  house.server.client.pods.patch(
    { ...at(name), type: 'strategic', subresource: 'resize' },
    { spec: { containers: [{ name: 'app', resources }] } },
  );

const condition = (object: Pod, type: string) => object.status?.conditions?.find((each) => each.type === type);
const sizeOf = (object: Pod) => object.status?.containerStatuses?.[0]?.resources;
const hasSize = (cpu: string, memory: string) => (object: Pod) =>
  sizeOf(object)?.requests?.cpu?.string === cpu && sizeOf(object)?.requests?.memory?.string === memory;
const isQuiet = (object: Pod) => !condition(object, 'PodResizeInProgress') && !condition(object, 'PodResizePending');

async function events(name: string): Promise<string[]> {
  const { items } = await house.server.client.events.list({ namespace: 'default' });
  return items.filter(({ involvedObject }) => involvedObject?.name === name).map(({ reason = '' }) => reason);
}

test('CPU and memory of a container change while it runs, and the status tells what is given and in force', async () => {
  const first = await run('grows', { resources: { requests: amounts('100m', '64Mi'), limits: amounts('200m', '128Mi') } });
  expect(first.status?.containerStatuses?.[0]).toMatchObject({
    allocatedResources: amounts('100m', '64Mi'),
    resources: { requests: amounts('100m', '64Mi'), limits: amounts('200m', '128Mi') },
  });
  await resize('grows', { requests: { cpu: '150m', memory: '96Mi' }, limits: { cpu: '400m', memory: '256Mi' } });
  const grown = await podWhere(house.server.client, 'grows', (object) => hasSize('150m', '96Mi')(object) && isQuiet(object));
  expect(grown.status?.containerStatuses?.[0]).toMatchObject({
    restartCount: 0,
    allocatedResources: amounts('150m', '96Mi'),
    resources: { limits: amounts('400m', '256Mi') },
  });
  expect(grown.status?.observedGeneration).toBe(2);
  const container = house.machine.fake.container('grows', 'app');
  expect(container.limits).toEqual({ cpuShares: 153, cpuQuota: 40_000, memoryBytes: 256 * mebi });
  expect(house.machine.fake.callsOf('update').length).toBe(1);
  await until('events', async () => (await events('grows')).includes('ResizeCompleted'));
  expect(await events('grows')).toContain('ResizeStarted');
});

test('a container that wants it is started anew for a resource, and for that one only', async () => {
  const resizePolicy = [
    { resourceName: 'cpu', restartPolicy: 'NotRequired' },
    { resourceName: 'memory', restartPolicy: 'RestartContainer' },
  ];
  await run('anew', { resources: { requests: amounts('100m', '64Mi'), limits: amounts('200m', '128Mi') }, resizePolicy });
  await resize('anew', { requests: { cpu: '150m' } });
  const same = await podWhere(house.server.client, 'anew', (object) => hasSize('150m', '64Mi')(object) && isQuiet(object));
  expect(same.status?.containerStatuses?.[0]?.restartCount).toBe(0);
  await resize('anew', { limits: { memory: '256Mi' } });
  const restarted = await podWhere(
    house.server.client,
    'anew',
    (object) => sizeOf(object)?.limits?.memory?.string === '256Mi' && isRunning(object) && isQuiet(object),
  );
  expect(restarted.status?.containerStatuses?.[0]?.restartCount).toBe(1);
  expect(house.machine.fake.container('anew', 'app').limits?.memoryBytes).toBe(256 * mebi);
});

test('a size that the node never has is infeasible, one that it has not now is deferred until another pod leaves', async () => {
  await run('other', { resources: { requests: amounts('3', '64Mi') } });
  await run('waits', { resources: { requests: amounts('100m', '64Mi') } });
  await resize('waits', { requests: { cpu: '64' } });
  const never = await podWhere(house.server.client, 'waits', (object) => condition(object, 'PodResizePending') !== undefined);
  expect(condition(never, 'PodResizePending')).toMatchObject({
    status: 'True',
    reason: 'Infeasible',
    message: "Node didn't have enough capacity: cpu, requested: 64000, capacity: 4000",
    observedGeneration: 2,
  });
  await resize('waits', { requests: { cpu: '2' } });
  const later = await podWhere(
    house.server.client,
    'waits',
    (object) => condition(object, 'PodResizePending')?.reason === 'Deferred',
  );
  expect(condition(later, 'PodResizePending')?.message).toBe(
    "Node didn't have enough resource: cpu, requested: 2000, used: 3000, capacity: 4000",
  );
  expect(later.status?.containerStatuses?.[0]?.allocatedResources).toEqual(amounts('100m', '64Mi'));
  expect(house.machine.fake.callsOf('update')).toEqual([]);
  await house.server.client.pods.delete(at('other'));
  await until('other is gone', () => isGone(house.server.client, 'other'));
  await podWhere(house.server.client, 'waits', (object) => hasSize('2', '64Mi')(object) && isQuiet(object));
  // Events are written beside the status.
  await until('the start is told', async () => (await events('waits')).includes('ResizeStarted'));
  expect(await events('waits')).toEqual(expect.arrayContaining(['ResizeInfeasible', 'ResizeDeferred', 'ResizeStarted']));
});

test('a memory limit below what the container uses is an error of the change, which says so', async () => {
  await run('full', { resources: { requests: amounts('100m', '64Mi'), limits: amounts('200m', '128Mi') } });
  usedMemory = 80 * mebi;
  await resize('full', { limits: { memory: '70Mi' } });
  const stuck = await podWhere(
    house.server.client,
    'full',
    (object) => condition(object, 'PodResizeInProgress')?.reason === 'Error',
  );
  expect(condition(stuck, 'PodResizeInProgress')?.message).toMatch(
    /container memory limit \(73400320\) below current usage \(83886080\)/,
  );
  expect(sizeOf(stuck)?.limits?.memory?.string).toBe('128Mi');
  expect(house.machine.fake.callsOf('update')).toEqual([]);
  await resize('full', { limits: { memory: '100Mi' } });
  const done = await podWhere(
    house.server.client,
    'full',
    (object) => sizeOf(object)?.limits?.memory?.string === '100Mi' && isQuiet(object),
  );
  expect(done.status?.containerStatuses?.[0]?.restartCount).toBe(0);
});

test('an agent that starts again goes on with the sizes that it finds, and changes what was asked for meanwhile', async () => {
  await run('kept', { resources: { requests: amounts('100m', '64Mi'), limits: amounts('200m', '128Mi') } });
  await run('asked', { resources: { requests: amounts('100m', '64Mi'), limits: amounts('200m', '128Mi') } });
  await house.agent.stop();
  await resize('asked', { limits: { cpu: '300m', memory: '128Mi' } });
  house.startAgent();
  const done = await podWhere(
    house.server.client,
    'asked',
    (object) => sizeOf(object)?.limits?.cpu?.string === '300m' && isQuiet(object),
  );
  expect(done.status?.containerStatuses?.[0]?.restartCount).toBe(0);
  expect(house.machine.fake.callsOf('update').map(({ target }) => target)).toEqual(['asked/app']);
});
