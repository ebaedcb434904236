import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { conflict, unavailable } from '../api/errors/index.ts';
import type {
  Event,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  StorageClass,
} from '../api/generated/types.ts';
import { formatMetrics, MetricsRegistry } from '../api/metrics/index.ts';
import type { Client } from '../client/index.ts';
import { node, pod } from '../test/builders/index.ts';
import { createFakeClock, settle } from '../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../test/fakes/fake-logger.ts';
// The fake loads it with the first patch; loaded beforehand, that takes no time.
import '../test/fakes/fake-patch.ts';
import { createFakePodClient } from '../test/fakes/fake-pod-client.ts';
import { createFakeResourceClient } from '../test/fakes/fake-resource-client.ts';
import { checkedPlugin } from './framework/checked-plugin.ts';
import { type AnyPlugin, unschedulable } from './framework/plugin.ts';
import { type RunSchedulerOptions, runScheduler } from './main.ts';
import { defaultPlan, type ProfilePlan } from './profile.ts';

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function start(
  nodes: readonly Node[],
  objects: readonly Pod[] = [],
  budgets: readonly PodDisruptionBudget[] = [],
  options: Partial<RunSchedulerOptions> = {},
) {
  const clock = createFakeClock();
  const logger = createFakeLogger();
  const pods = createFakePodClient({ objects });
  const nodeClient = createFakeResourceClient<Node>({ kind: 'Node', objects: nodes });
  const events = createFakeResourceClient<Event>({ kind: 'Event' });
  const bulkWriter = () => ({ resource: (kind: string) => (kind === 'Pod' ? pods : events), close: async () => {} });
  const persistentVolumes = createFakeResourceClient<PersistentVolume>({ kind: 'PersistentVolume' });
  const persistentVolumeClaims = createFakeResourceClient<PersistentVolumeClaim>({ kind: 'PersistentVolumeClaim' });
  const storageClasses = createFakeResourceClient<StorageClass>({ kind: 'StorageClass' });
  const podDisruptionBudgets = createFakeResourceClient<PodDisruptionBudget>({ kind: 'PodDisruptionBudget', objects: budgets });
  const namespaces = createFakeResourceClient<Namespace>({ kind: 'Namespace' });
  const storage = { persistentVolumes, persistentVolumeClaims, storageClasses, podDisruptionBudgets };
  const client = { pods, nodes: nodeClient, events, bulkWriter, namespaces, ...storage } as unknown as Client;
  const controller = new AbortController();
  const running = runScheduler({ client, random: () => 0, clock, logger, ...options }, controller.signal);
  stops.push(async () => {
    controller.abort();
    await running;
  });
  const pass = async (ms = 0) => {
    for (let turn = 0; turn < 5; turn++) await settle();
    await clock.advance(ms);
    for (let turn = 0; turn < 10; turn++) await settle();
  };
  await pass();
  const condition = (name: string) =>
    pods.stored(`default/${name}`)?.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  const told = () => events.objects().map(({ reason, message }) => `${reason}: ${message}`);
  const bindings = () => pods.bindings.map(({ pod, nodeName }) => `${pod} -> ${nodeName}`);
  return { pods, nodes: nodeClient, events, clock, pass, condition, told, bindings, logger };
}

/** Numbers from 0 to 1 that look random and hang on the seed alone. */
function createSeries(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 16_807) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

describe('runScheduler', () => {
  it('binds a pending pod and tells it in an event', async () => {
    const { pods, pass, told, bindings } = await start([node('n1').build()]);
    pods.put(pod('web').build());
    await pass();
    expect(bindings()).toEqual(['default/web -> n1']);
    expect(told()).toEqual(['Scheduled: Successfully assigned default/web to n1']);
  });

  it('dates the event of a binding with the time it asked for it, since the agent may act before the answer is here', async () => {
    const { pods, events, clock, pass } = await start([node('n1').build()]);
    const bind = pods.bind.bind(pods);
    pods.bind = async (...call) => {
      await clock.advance(3_000);
      return bind(...call);
    };
    const askedAt = clock.now() / 1000;
    pods.put(pod('web').build());
    await pass();
    expect(events.objects()[0]).toMatchObject({ reason: 'Scheduled', firstTimestamp: { seconds: askedAt } });
  });

  it('finds in the API what was left when it starts', async () => {
    const full = pod('old').requests({ cpu: '4' }).on('n1').build();
    const { bindings } = await start([node('n1').build(), node('n2').build()], [full, pod('a').requests({ cpu: '1' }).build()]);
    expect(bindings()).toEqual(['default/a -> n2']);
  });

  it.each([
    ['of another scheduler', pod('p').spec({ schedulerName: 'other' })],
    ['that has finished', pod('p').phase('Failed')],
    ['that is being deleted', pod('p').deleting(0)],
    ['that a scheduling gate holds back', pod('p').spec({ schedulingGates: [{ name: 'quota' }] })],
  ])('leaves a pod alone %s', async (_, built) => {
    const { bindings } = await start([node('n1').build()], [built.build()]);
    expect(bindings()).toEqual([]);
  });

  it('explains an unschedulable pod in its condition and an event, and binds it when a node fits', async () => {
    const { nodes, pass, condition, told, bindings } = await start(
      [node('n1').build(), node('n2').taint('k', 'NoSchedule', 'v').build()],
      [pod('big').requests({ cpu: '6' }).build()],
    );
    const message = '0/2 nodes are available: 1 insufficient cpu, 1 node(s) had untolerated taint {k: v}.';
    expect(condition('big')).toMatchObject({ status: 'False', reason: 'Unschedulable', message });
    expect(told()).toEqual([`FailedScheduling: ${message}`]);
    nodes.put(node('n3').capacity({ cpu: '8' }).build());
    await pass(1_000);
    expect(bindings()).toEqual(['default/big -> n3']);
  });

  it('does not write the same condition twice, nor wake a pod by its own condition', async () => {
    const { pods, nodes, pass } = await start([node('n1').build()], [pod('big').requests({ cpu: '6' }).build()]);
    await pass(60_000);
    nodes.put(node('n1').taint('k', 'NoSchedule').build());
    nodes.put(node('n1').build());
    await pass(60_000);
    expect(pods.callLog('patch')).toEqual(['patch default/big']);
  });

  it('binds a waiting pod when another frees its node', async () => {
    const old = pod('old').requests({ cpu: '4' }).on('n1').build();
    const { pods, pass, bindings } = await start([node('n1').build()], [old, pod('next').requests({ cpu: '1' }).build()]);
    expect(bindings()).toEqual([]);
    pods.remove('default/old');
    await pass(1_000);
    expect(bindings()).toEqual(['default/next -> n1']);
  });

  it('never puts more on a node than it holds, however fast pods come', async () => {
    const { pods, pass, bindings, condition } = await start([node('n1').build()]);
    for (let i = 0; i < 6; i++) pods.put(pod(`p${i}`).requests({ cpu: '1' }).build());
    await pass();
    expect(bindings()).toHaveLength(4);
    expect([condition('p4')?.message, condition('p5')?.message]).toEqual(
      Array(2).fill('0/1 nodes are available: 1 insufficient cpu.'),
    );
  });

  it('takes a placement back and tries again when the binding is refused', async () => {
    const { pods, pass, bindings, told } = await start([node('n1').build()]);
    pods.failNextBind(conflict({ kind: 'Pod', name: 'web' }, 'node "n1" is full'));
    pods.put(pod('web').requests({ cpu: '4' }).build());
    await pass();
    expect(told()).toEqual([]);
    await pass(1_000);
    expect(bindings()).toEqual(['default/web -> n1', 'default/web -> n1']);
  });

  it('tells of a binding that fails for another reason, and tries again', async () => {
    const { pods, pass, bindings, condition } = await start([node('n1').build()]);
    pods.failNextBind(new Error('disk on fire'));
    pods.put(pod('web').build());
    await pass();
    expect(condition('web')).toMatchObject({
      reason: 'SchedulerError',
      message: 'plugin "DefaultBinder" failed in bind: disk on fire',
    });
    await pass(1_000);
    expect(bindings()).toHaveLength(2);
  });

  it('does not put pods on a node that is not ready', async () => {
    const { nodes, pass, bindings, condition } = await start([node('n1').ready(false).build()], [pod('web').build()]);
    expect(condition('web')?.message).toBe('0/1 nodes are available: 1 node(s) were not ready.');
    nodes.put(node('n1').build());
    await pass(1_000);
    expect(bindings()).toEqual(['default/web -> n1']);
  });

  it('spreads a burst over nodes instead of piling it onto one', async () => {
    const { pods, pass, bindings } = await start([node('n1').build(), node('n2').build()]);
    for (let i = 0; i < 4; i++) pods.put(pod(`p${i}`).requests({ cpu: '100m', memory: '64Mi' }).build());
    await pass();
    expect(bindings().map((line) => line.slice(-2))).toEqual(['n1', 'n2', 'n1', 'n2']);
  });

  it('gives the same placements for the same events and the same random numbers, and others for others', async () => {
    const podOf = (i: number) =>
      pod(`p${i}`)
        .requests({ cpu: i % 3 === 0 ? '900m' : '200m' })
        .priority(i % 4)
        .build();
    const isTried = ({ spec, status }: Pod) => spec?.nodeName !== undefined || status?.conditions !== undefined;
    async function placements(seed: number): Promise<string[]> {
      const machines = Array.from({ length: 8 }, (_, i) => node(`n${i}`));
      const waiting = Array.from({ length: 20 }, (_, i) => podOf(i));
      const built = machines.map((machine) => machine.build());
      const { pods, nodes, pass, bindings } = await start(built, waiting, [], { random: createSeries(seed) });
      // How many events come between two attempts hangs on the machine:
      // here all that belong together have come before the next.
      const allTried = async () => {
        do await pass(200);
        while (!pods.objects().every(isTried));
      };
      for (let i = 20; i < 40; i++) {
        await allTried();
        pods.put(podOf(i));
        await allTried();
        if (i % 7 === 0) nodes.put(machines[i % 8]!.labels({ round: String(i) }).build());
        if (i % 10 === 9) pods.remove(`default/p${i - 5}`);
      }
      await allTried();
      return bindings();
    }
    const once = await placements(1);
    expect(once.length).toBeGreaterThan(30);
    expect(await placements(1)).toEqual(once);
    expect(await placements(2)).not.toEqual(once);
  });

  const low = (name: string) => pod(name).requests({ cpu: '4' }).priority(1).on('n1').build();
  const high = (name: string, priority = 10) => pod(name).requests({ cpu: '4' }).priority(priority);
  const victims = (pods: { callLog(method: 'delete'): string[] }) => pods.callLog('delete');

  it('makes room for a more important pod, says where, and binds it when the victim is gone', async () => {
    const { pods, pass, bindings, told } = await start([node('n1').build()], [low('low')]);
    pods.put(high('high').build());
    await pass();
    expect(victims(pods)).toEqual(['delete default/low']);
    await pass();
    expect(bindings()).toEqual(['default/high -> n1']);
    expect(told()).toContain('Preempted: Preempted by pod default/high (uid-high) on node n1');
  });

  it('evicts no other pod while the victim ends, and tries again when it could not be deleted', async () => {
    const { pods, nodes, pass, bindings } = await start([node('n1').build()], [low('low')]);
    pods.failNext('delete', unavailable('away'));
    pods.put(high('high').build());
    await pass();
    expect([victims(pods), bindings()]).toEqual([['delete default/low'], []]);
    expect(pods.stored('default/high')?.status?.nominatedNodeName).toBe('n1');
    await pass(1_000);
    expect(victims(pods)).toEqual(['delete default/low', 'delete default/low']);
    nodes.put(node('n1').build());
    await pass();
    expect(bindings()).toEqual(['default/high -> n1']);
  });

  it('finds after a restart for whom room was being made, and keeps it for them', async () => {
    const waiting = high('waiting').status({ nominatedNodeName: 'n1' }).build();
    const condition = { type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' };
    const leaving = { ...pod('low').requests({ cpu: '4' }).priority(1).on('n1').deleting(0).condition(condition).build() };
    const { pods, pass, bindings } = await start([node('n1').build()], [leaving, waiting, high('other').build()]);
    expect([victims(pods), bindings()]).toEqual([[], []]);
    pods.remove('default/low');
    await pass(1_000);
    expect(bindings()).toEqual(['default/waiting -> n1']);
  });

  it('lets a more important pod take the room over, and says so of the one that waited', async () => {
    const condition = { type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' };
    const leaving = { ...pod('low').requests({ cpu: '2' }).priority(1).on('n1').deleting(0).condition(condition).build() };
    const other = pod('other').requests({ cpu: '2' }).priority(2).on('n1').build();
    const waiting = pod('waiting').requests({ cpu: '2' }).priority(5).status({ nominatedNodeName: 'n1' }).build();
    const { pods, pass, bindings } = await start([node('n1').build()], [leaving, other, waiting]);
    pods.put(high('highest', 100).build());
    await pass();
    expect(victims(pods)).toEqual(['delete default/other']);
    expect(pods.stored('default/waiting')?.status?.nominatedNodeName).toBeUndefined();
    expect(pods.stored('default/highest')?.status?.nominatedNodeName).toBe('n1');
    pods.remove('default/low');
    await pass(1_000);
    expect(bindings()).toEqual(['default/highest -> n1']);
  });

  it('ends a nomination that came to nothing', async () => {
    const waiting = high('waiting').status({ nominatedNodeName: 'gone' }).build();
    const { pods, pass } = await start([node('n1').unschedulable().build()], [waiting]);
    await pass();
    expect(pods.stored('default/waiting')?.status?.nominatedNodeName).toBeUndefined();
  });
});

describe('a scheduler of several profiles', () => {
  /** The usual plugins, and one more. */
  const plan = (schedulerName: string, ...plugins: AnyPlugin[]): ProfilePlan => ({
    schedulerName,
    plugins: [...defaultPlan().plugins, ...plugins.map((plugin) => ({ factory: { name: plugin.name, create: () => plugin } }))],
  });
  const elsewhere = unschedulable('node(s) had another name', ['node/added']);
  const only = (nodeName: string): AnyPlugin => ({
    name: 'Only',
    filter: (_, nodes, row) => (nodes.names[row] === nodeName ? undefined : elsewhere),
  });
  const of = (schedulerName: string, name: string, cpu = '1') => pod(name).spec({ schedulerName }).requests({ cpu }).build();
  const startAll = (nodes: readonly Node[], objects: readonly Pod[], ...profiles: ProfilePlan[]) =>
    start(nodes, objects, [], { profiles, metrics });
  let metrics = new MetricsRegistry();
  beforeEach(() => {
    metrics = new MetricsRegistry();
  });

  it('places each pod by the profile that it asks for, and leaves those of others alone', async () => {
    const { bindings } = await startAll(
      [node('n1').build(), node('n2').build()],
      [of('first', 'a'), of('second', 'b'), of('third', 'c'), of('default-scheduler', 'd')],
      plan('first', only('n1')),
      plan('second', only('n2')),
    );
    expect(bindings().sort()).toEqual(['default/a -> n1', 'default/b -> n2']);
  });

  it('puts no more on a node than it holds, whosever pods they are', async () => {
    const pods = Array.from({ length: 6 }, (_, i) => of(i % 2 === 0 ? 'first' : 'second', `p${i}`));
    const { bindings, told } = await startAll([node('n1').build()], pods, plan('first'), plan('second'));
    expect(bindings()).toHaveLength(4);
    expect(told().filter((text) => text.startsWith('FailedScheduling'))).toHaveLength(2);
  });

  it('lets a pod wait for what its own profile says could help, and not for what another says', async () => {
    const helping = (helps: boolean): AnyPlugin => ({ ...only('n9'), helps: () => helps });
    const { nodes, pass, pods } = await startAll(
      [node('n1').build()],
      [of('first', 'a'), of('second', 'b')],
      plan('first', helping(false)),
      plan('second', helping(true)),
    );
    nodes.put(node('n2').build());
    await pass(2_000);
    const messages = ['a', 'b'].map((name) => pods.stored(`default/${name}`)?.status?.conditions?.[0]?.message);
    expect(messages).toEqual([
      '0/1 nodes are available: 1 node(s) had another name.',
      '0/2 nodes are available: 2 node(s) had another name.',
    ]);
  });

  it('counts the attempts of each', async () => {
    await startAll([node('n1').build()], [of('first', 'a'), of('second', 'b', '9')], plan('first'), plan('second'));
    const text = formatMetrics(metrics, 'prometheus');
    expect(text).toContain('scheduler_schedule_attempts_total{profile="first",result="scheduled"} 1');
    expect(text).toContain('scheduler_schedule_attempts_total{profile="second",result="unschedulable"} 1');
    expect(text).toContain('scheduler_schedule_attempts_total{profile="second",result="scheduled"} 0');
  });

  it('goes on placing the pods of others when the plugin of one fails, and tells its name', async () => {
    const bad = checkedPlugin({ name: 'Bad', filter: () => true } as unknown as AnyPlugin);
    const { bindings, told, pods, pass } = await startAll(
      [node('n1').build()],
      [of('first', 'a'), of('second', 'b')],
      plan('first', bad),
      plan('second'),
    );
    const message = 'plugin "Bad" failed in filter: answered boolean true, which is no rejection; nothing lets it pass';
    expect(told()).toContain(`FailedScheduling: ${message}`);
    pods.put(of('second', 'c'));
    await pass(1_000);
    expect(bindings()).toEqual(['default/b -> n1', 'default/c -> n1']);
  });

  it('takes pods in the order of arrival when the plugin that orders them fails, and says so once', async () => {
    const sorting = checkedPlugin({ name: 'Sorts', queueOrder: () => Number.NaN } as unknown as AnyPlugin);
    const plugins = defaultPlan().plugins.filter(({ factory }) => factory.name !== 'PrioritySort');
    const factory = { name: 'Sorts', create: () => sorting };
    const pods = ['a', 'b', 'c'].map((name) => of('first', name));
    const { bindings, logger } = await startAll([node('n1').build()], pods, {
      schedulerName: 'first',
      plugins: [...plugins, { factory }],
    });
    expect(bindings()).toEqual(['default/a -> n1', 'default/b -> n1', 'default/c -> n1']);
    expect(logger.lines.filter(({ message }) => message.includes('not in the order of its plugin'))).toHaveLength(1);
  });
});
