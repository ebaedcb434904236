import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createInstallation, eventually } from './installation.ts';
import { conditionOf, housed, type PodHouse, type PodJson, podOf, script, stay } from './pods-fixture.ts';

// The node as the agent tells of it, and pods that do not fit there.
let house: PodHouse;
let usageAfterMs: number;
let node: { status: Record<string, Record<string, unknown>> };
beforeAll(async () => {
  const berth = await createInstallation('placing');
  await berth.up();
  const start = Date.now();
  node = await eventually('usage is reported', async () => {
    const found = JSON.parse(await berth.ok('get', 'node', berth.nodeName, '-o', 'json'));
    return found.status.usage?.cpu ? found : undefined;
  });
  usageAfterMs = Date.now() - start;
  house = housed(berth);
});
afterAll(() => house.berth.purge());

describe('the node', () => {
  it('tells what it uses seconds after it is there', () => {
    expect(usageAfterMs).toBeLessThan(5_000);
    expect(node.status.usage).toMatchObject({ cpu: expect.any(String), memory: expect.any(String), disk: expect.any(String) });
  });
  it('tells what it is and what it has', () => {
    const { capacity, allocatable, nodeInfo, addresses, conditions, images } = node.status;
    expect(Object.keys(capacity ?? {})).toEqual(expect.arrayContaining(['cpu', 'memory', 'pods']));
    expect(Object.keys(allocatable ?? {})).toEqual(expect.arrayContaining(['cpu', 'memory', 'pods']));
    expect(nodeInfo).toMatchObject({ operatingSystem: 'linux', containerRuntimeVersion: expect.stringMatching(/^docker:/) });
    expect(addresses).toContainEqual({ type: 'InternalIP', address: expect.stringMatching(/^\d+\./) });
    expect(conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True' }));
    expect(JSON.stringify(images)).toContain('berth/busybox:latest');
  });
});

describe('a pod that fits nowhere', () => {
  const cpu = (requests: string) => ({ resources: { requests: { cpu: requests } } });
  /** More than half of what the node has, so that two such pods do not fit. */
  const most = () => {
    const written = String(node.status.allocatable?.cpu);
    const cores = written.endsWith('m') ? Number.parseFloat(written) / 1000 : Number.parseFloat(written);
    return String(cores * 0.7);
  };
  const isUnschedulable = (pod: PodJson) => conditionOf(pod, 'PodScheduled')?.reason === 'Unschedulable';

  it('says so with the reasons counted, in its condition and in an event', async () => {
    await house.apply(podOf('huge', [script(stay, cpu('1000'))]));
    const pod = await house.until('huge', 'is unschedulable', isUnschedulable);
    expect(pod.status.phase).toBe('Pending');
    expect(conditionOf(pod, 'PodScheduled')).toMatchObject({
      status: 'False',
      message: expect.stringMatching(/^0\/1 nodes are available: 1 insufficient cpu/i),
    });
    const event = await eventually('the event is there', async () =>
      (await house.events('huge')).find((each) => each.reason === 'FailedScheduling'),
    );
    expect(event).toMatchObject({
      type: 'Warning',
      message: expect.stringMatching(/^0\/1 nodes are available: 1 insufficient cpu/i),
    });
    expect(await house.row('huge')).toEqual({ ready: '0/1', status: 'Pending', restarts: 0 });
  });

  it('is placed as soon as another one leaves', async () => {
    await house.apply(podOf('first', [script(stay, cpu(most()))]));
    await house.running('first');
    await house.apply(podOf('second', [script(stay, cpu(most()))]));
    await house.until('second', 'is unschedulable', isUnschedulable);
    await house.berth.ok('delete', 'pod', 'first');
    await house.running('second');
  });

  it('takes the place of a less important one, which ends in its own time, unless its class is polite', async () => {
    await house.berth.ok('create', 'priorityclass', 'urgent', '--value', '1000');
    await house.berth.ok('create', 'priorityclass', 'polite', '--value', '10', '--preemption-policy', 'Never');
    await house.apply(podOf('waits', [script(stay, cpu(most()))], { priorityClassName: 'polite' }));
    await house.until('waits', 'is unschedulable', isUnschedulable);
    await house.running('second');
    await house.apply(podOf('urgent', [script(stay, cpu(most()))], { priorityClassName: 'urgent' }));
    const urgent = await house.running('urgent');
    expect(urgent.spec).toMatchObject({ priority: 1000, preemptionPolicy: 'PreemptLowerPriority' });
    expect((await house.events('second')).map(({ reason }) => reason)).toEqual(expect.arrayContaining(['Preempted', 'Killing']));
    await expect(house.pod('second')).rejects.toThrow('not found');
    expect(conditionOf(await house.pod('waits'), 'PodScheduled')?.status).toBe('False');
  });
});
