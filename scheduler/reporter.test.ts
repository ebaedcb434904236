import { expect, it } from 'vitest';
import type { Event, Pod } from '../api/generated/types.ts';
import { pod } from '../test/builders/index.ts';
import { createFakeClock, settle } from '../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../test/fakes/fake-logger.ts';
import '../test/fakes/fake-patch.ts';
import { createFakePodClient } from '../test/fakes/fake-pod-client.ts';
import { createFakeResourceClient } from '../test/fakes/fake-resource-client.ts';
import { podInfo } from './framework/pod-info.ts';
import { createReporter } from './reporter.ts';

const high = pod('high').build();
const info = podInfo(high);
const full = { reason: 'Unschedulable', message: '0/1 nodes are available: 1 insufficient cpu.' } as const;

function setUp() {
  const pods = createFakePodClient({ objects: [high] });
  const events = createFakeResourceClient<Event>({ kind: 'Event' });
  const clock = createFakeClock();
  /** What the scheduler has heard of the pod so far. */
  let seen: Pod | undefined = pods.stored('default/high');
  const shows = (version: string) => Number(seen?.metadata?.resourceVersion) >= Number(version);
  const reporter = createReporter({
    pods,
    cached: { shows, lister: { get: () => seen } },
    events,
    clock,
    logger: createFakeLogger(),
  });
  /** Writes what waits, and says where the pod is nominated then. */
  const written = async () => {
    const stop = new AbortController();
    const running = reporter.run(stop.signal);
    for (let turn = 0; turn < 5; turn++) await settle();
    stop.abort();
    await running;
    return pods.stored('default/high')?.status?.nominatedNodeName;
  };
  const see = () => {
    seen = pods.stored('default/high');
  };
  return { reporter, pods, events, clock, see, written };
}

it('says nothing of a pod that was bound before the news of it is here, by whomever', async () => {
  const { reporter, pods, clock, see } = setUp();
  const stop = new AbortController();
  const running = reporter.run(stop.signal);
  await pods.bind({ namespace: 'default', name: 'high' }, 'n1');
  reporter.notBound(info, full);
  await settle();
  see();
  await clock.advance(1_000);
  stop.abort();
  await running;
  expect(pods.callLog('patch')).toEqual(['patch default/high']);
  expect(pods.stored('default/high')?.status?.conditions).toBeUndefined();
});

it('gives the condition a time in whole seconds, as those of Kubernetes are', async () => {
  const { reporter, pods, clock, written } = setUp();
  await clock.advance(1_250);
  reporter.notBound(info, full);
  await written();
  const [condition] = pods.stored('default/high')?.status?.conditions ?? [];
  expect(condition).toMatchObject({ type: 'PodScheduled', lastTransitionTime: { seconds: Math.floor(clock.now() / 1000) } });
  expect(clock.now() % 1000).not.toBe(0);
  expect(condition?.lastTransitionTime).not.toHaveProperty('nanos');
});

it('says it once the cache is current, when another client wrote the pod before', async () => {
  const { reporter, pods, clock, see } = setUp();
  const stop = new AbortController();
  const running = reporter.run(stop.signal);
  pods.put({ ...pods.stored('default/high')!, spec: { ...high.spec, priority: 7 } });
  reporter.notBound(info, full);
  await settle();
  see();
  await clock.advance(1_000);
  stop.abort();
  await running;
  expect(pods.stored('default/high')).toMatchObject({
    spec: { priority: 7 },
    status: { conditions: [{ reason: 'Unschedulable' }] },
  });
});

it('compares a report with its own last write until the watch delivers that write', async () => {
  const { reporter, pods, clock, see } = setUp();
  const stop = new AbortController();
  const running = reporter.run(stop.signal);
  const says = () => pods.stored('default/high')?.status?.conditions?.map(({ reason }) => reason);
  reporter.notBound(info, full);
  await settle();
  see();
  await clock.advance(2_000);
  const stale = podInfo(pods.stored('default/high')!);
  reporter.notBound(stale, { reason: 'SchedulerError', message: 'the binding was lost' });
  await settle();
  await clock.advance(5_000);
  expect(says()).toEqual(['SchedulerError']);
  // The watch has not delivered the last write: the report equals the condition of the cached pod.
  reporter.notBound(stale, full);
  await settle();
  see();
  await clock.advance(1_000);
  expect(says()).toEqual(['Unschedulable']);
  see();
  await clock.advance(2_000);
  const calls = pods.callLog('patch').length;
  // Afterwards it compares with the cached pod, also when another client wrote last.
  pods.put({ ...pods.stored('default/high')!, status: {} });
  see();
  reporter.notBound(podInfo(pods.stored('default/high')!), full);
  await settle();
  stop.abort();
  await running;
  expect(pods.callLog('patch')).toHaveLength(calls + 1);
  expect(says()).toEqual(['Unschedulable']);
});

it('says where room is being made for a pod, also when something else is said before that is written', async () => {
  const { reporter, written } = setUp();
  reporter.notBound(info, { ...full, nominatedNodeName: 'n1' });
  reporter.notBound(info, { reason: 'SchedulerError', message: 'away' });
  expect(await written()).toBe('n1');
});

it('takes that back, and writes nothing for a pod that was never nominated', async () => {
  const { reporter, pods, written } = setUp();
  reporter.notBound(info, { ...full, nominatedNodeName: 'n1' });
  reporter.notBound(info, { ...full, nominatedNodeName: '' });
  expect(await written()).toBeUndefined();
  expect(pods.calls.map(({ argument }) => JSON.stringify(argument)).join()).toContain('"nominatedNodeName":null');
  const other = setUp();
  other.reporter.notBound(info, { ...full, nominatedNodeName: '' });
  expect(await other.written()).toBeUndefined();
  expect(other.pods.calls.map(({ argument }) => JSON.stringify(argument)).join()).not.toContain('nominatedNodeName');
});

it.each([
  ['by its name in the namespace of the victim', 'default', false, 'default/high (uid-high) on node n1'],
  ['by its uid elsewhere', 'other', false, 'uid-high of another namespace on node n1'],
  [
    'with the budget that it breaks',
    'default',
    true,
    'default/high (uid-high) on node n1, against its disruption budget, because there was no other way',
  ],
])('tells a victim for whom it goes, %s', async (_, namespace, isAgainstBudget, words) => {
  const { reporter, events, written } = setUp();
  reporter.preempted(podInfo(pod('low').namespace(namespace).build()), { preemptor: info, nodeName: 'n1', isAgainstBudget });
  await written();
  expect(JSON.stringify(events.calls)).toContain(JSON.stringify(`Preempted by pod ${words}`));
});

it("has as an event's source the scheduler that the pod asks for, and that of the preemptor for a victim", async () => {
  const { reporter, events, written } = setUp();
  const ofOther = (name: string) => {
    const made = pod(name).build();
    return podInfo({ ...made, spec: { ...made.spec, schedulerName: 'other' } });
  };
  reporter.bound(info, 'n1', 0);
  reporter.notBound(ofOther('waits'), full);
  reporter.preempted(info, { preemptor: ofOther('first'), nodeName: 'n1', isAgainstBudget: false });
  await written();
  const sources = (await events.list({})).items.map(({ reason, source }) => `${reason} ${source?.component}`);
  expect(sources.sort()).toEqual(['FailedScheduling other', 'Preempted other', 'Scheduled default-scheduler']);
});
