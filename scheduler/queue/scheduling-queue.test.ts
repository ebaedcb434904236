import { describe, expect, it } from 'vitest';
import { node, pod } from '../../test/builders/index.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import type { Verdict } from '../framework/diagnosis.ts';
import { type ClusterEvent, type ClusterEventKind, unschedulable } from '../framework/plugin.ts';
import { podInfo } from '../framework/pod-info.ts';
import { prioritySort } from '../plugins/priority-sort.ts';
import { createSchedulingQueue, parkedAtMostMs } from './scheduling-queue.ts';

const nodeAdded: ClusterEvent = { kind: 'node/added', node: node('n').build() };
const podRemoved: ClusterEvent = { kind: 'pod/removed', pod: podInfo(pod('gone').build()) };
const verdict = (plugin: string, ...wakeOn: ClusterEventKind[]): Verdict => ({
  plugin,
  rejection: unschedulable('full', wakeOn),
});
const waitsForNode = [verdict('Fit', 'node/added')];

function setUp(helps: (plugin: string, event: ClusterEvent) => boolean = () => true) {
  const clock = createFakeClock();
  const queue = createSchedulingQueue({
    order: prioritySort.queueOrder!,
    helps: (plugin, _, event) => helps(plugin, event),
    clock,
  });
  const add = (...names: string[]) => names.forEach((name) => void queue.add(podInfo(pod(name).build())));
  const popName = () => queue.pop()?.pod.pod.metadata?.name;
  const fail = (verdicts?: readonly Verdict[]) => {
    const item = queue.pop()!;
    if (verdicts) queue.park(item, verdicts);
    else queue.retry(item);
  };
  return { clock, queue, add, popName, fail };
}

describe('scheduling queue', () => {
  it('gives out pods by priority, then by the time they came', async () => {
    const { queue, popName, clock } = setUp();
    queue.add(podInfo(pod('first').build()));
    await clock.advance(1);
    queue.add(podInfo(pod('second').build()));
    queue.add(podInfo(pod('urgent').priority(10).build()));
    expect([popName(), popName(), popName(), popName()]).toEqual(['urgent', 'first', 'second', undefined]);
  });

  it('does not give out a pod twice, nor one that is under way', () => {
    const { add, popName } = setUp();
    add('a', 'a');
    expect(popName()).toBe('a');
    add('a');
    expect(popName()).toBeUndefined();
  });

  it('tries a parked pod again when a rejection ends by itself, counted from when the pod came, and only then', async () => {
    const { clock, add, popName, fail } = setUp();
    const ending = { ...waitsForNode[0]!, rejection: { ...waitsForNode[0]!.rejection, atMostMs: 60_000 } };
    add('a');
    await clock.advance(20_000);
    fail([ending, ...waitsForNode]);
    await clock.advance(39_999);
    expect(popName()).toBeUndefined();
    await clock.advance(1);
    fail([ending]);
    await clock.advance(parkedAtMostMs - 1);
    expect(popName()).toBeUndefined();
    await clock.advance(1);
    expect(popName()).toBe('a');
  });

  it('doubles the wait between attempts that fail by accident, from 1 to 10 s', async () => {
    const { clock, queue, add } = setUp();
    add('a');
    const waits: number[] = [];
    let item = queue.pop()!;
    for (let i = 0; i < 6; i++) {
      queue.retry(item);
      const since = clock.now();
      for (let next = queue.pop(); ; next = queue.pop()) {
        if (next) {
          item = next;
          break;
        }
        await clock.advance(500);
      }
      waits.push((clock.now() - since) / 1000);
    }
    expect(waits).toEqual([1, 2, 4, 8, 10, 10]);
  });

  it('keeps an unschedulable pod until an event that its rejection named', async () => {
    const { clock, queue, add, popName, fail } = setUp();
    add('a');
    fail(waitsForNode);
    await clock.advance(60_000);
    queue.happened(podRemoved);
    expect(popName()).toBeUndefined();
    queue.happened(nodeAdded);
    expect(popName()).toBe('a');
  });

  it('does not wake a pod when the plugin says that the event does not help', async () => {
    const { clock, queue, add, popName, fail } = setUp((plugin) => plugin === 'Taint');
    add('a');
    fail([verdict('Fit', 'node/added'), verdict('Taint', 'node/taints')]);
    await clock.advance(60_000);
    queue.happened(nodeAdded);
    expect(popName()).toBeUndefined();
    queue.happened({ kind: 'node/taints', node: node('n').build() });
    expect(popName()).toBe('a');
  });

  it('lets a pod that is woken early finish its back-off', async () => {
    const { clock, queue, add, popName, fail } = setUp();
    add('a');
    fail(waitsForNode);
    queue.happened(nodeAdded);
    expect(popName()).toBeUndefined();
    await clock.advance(1_000);
    expect(popName()).toBe('a');
  });

  it('does not lose an event that comes while the attempt is under way', async () => {
    const { clock, queue, add, popName } = setUp();
    add('a');
    const item = queue.pop()!;
    queue.happened(nodeAdded);
    queue.park(item, waitsForNode);
    await clock.advance(1_000);
    expect(popName()).toBe('a');
  });

  it('does not take an event from before the attempt for a new one', async () => {
    const { clock, queue, add, popName } = setUp();
    add('other', 'a');
    queue.pop();
    queue.happened(nodeAdded);
    queue.park(queue.pop()!, waitsForNode);
    await clock.advance(60_000);
    expect(popName()).toBeUndefined();
  });

  it('tries a pod again when more happened during the attempt than is remembered', async () => {
    const { clock, queue, add, popName } = setUp();
    add('a');
    const item = queue.pop()!;
    for (let i = 0; i <= 1_000; i++) queue.happened(podRemoved);
    queue.park(item, waitsForNode);
    await clock.advance(1_000);
    expect(popName()).toBe('a');
  });

  it('tries a pod after five minutes whatever happened', async () => {
    const { clock, add, popName, fail } = setUp();
    add('a');
    fail(waitsForNode);
    await clock.advance(parkedAtMostMs - 1);
    expect(popName()).toBeUndefined();
    await clock.advance(1);
    expect(popName()).toBe('a');
  });

  it('wakes a parked pod when its own spec changes, not when its status does', async () => {
    const { clock, queue, add, popName, fail } = setUp();
    add('a');
    fail(waitsForNode);
    await clock.advance(60_000);
    queue.add(podInfo(pod('a').condition({ type: 'PodScheduled', status: 'False' }).build()));
    expect(popName()).toBeUndefined();
    queue.add(podInfo(pod('a').toleration({ operator: 'Exists' }).build()));
    const item = queue.pop();
    expect(item?.pod.pod.spec?.tolerations).toHaveLength(1);
  });

  it('wakes a pod whose spec changed while its attempt was under way', async () => {
    const { clock, queue, add, popName } = setUp();
    add('a');
    const item = queue.pop()!;
    queue.add(podInfo(pod('a').toleration({ operator: 'Exists' }).build()));
    queue.park(item, waitsForNode);
    await clock.advance(1_000);
    expect(popName()).toBe('a');
  });

  it.each(['active', 'backoff', 'parked', 'in flight'])('forgets a pod that is removed while %s', async (place) => {
    const { clock, queue, add, popName, fail } = setUp();
    add('a');
    const item = place === 'in flight' ? queue.pop() : undefined;
    if (place === 'backoff') fail();
    if (place === 'parked') fail(waitsForNode);
    queue.remove('uid-a');
    if (item) queue.retry(item);
    await clock.advance(2 * parkedAtMostMs);
    queue.happened(nodeAdded);
    expect(popName()).toBeUndefined();
  });

  it('forgets a pod that is done, and takes it up again when it is added', () => {
    const { queue, add, popName } = setUp();
    add('a');
    queue.done(queue.pop()!);
    expect(popName()).toBeUndefined();
    add('a');
    expect(popName()).toBe('a');
  });

  it('does not let an attempt at a removed pod end the attempt at its successor', () => {
    const { queue, add, popName } = setUp();
    add('a');
    const old = queue.pop()!;
    queue.remove('uid-a');
    add('a');
    queue.done(old);
    expect(popName()).toBe('a');
  });

  it.each(['a pod comes', 'a back-off ends', 'the signal aborts'])('stops waiting when %s', async (why) => {
    const { clock, queue, add, fail } = setUp();
    const stop = new AbortController();
    add('a');
    fail();
    let woken = false;
    const waiting = queue.wait(stop.signal).then(() => (woken = true));
    await clock.advance(0);
    expect(woken).toBe(false);
    if (why === 'a pod comes') add('b');
    else if (why === 'a back-off ends') await clock.advance(1_000);
    else stop.abort();
    await waiting;
    expect(clock.pending).toBe(0);
  });

  it('gives out a pod as soon as the last of those has gone that leave for it, whatever its back-off', async () => {
    const { queue, add, popName, clock } = setUp();
    const gone = (name: string): ClusterEvent => ({ kind: 'pod/removed', pod: podInfo(pod(name).build()) });
    add('high');
    queue.park(queue.pop()!, waitsForNode, ['uid-a', 'uid-b']);
    queue.happened(gone('a'));
    queue.happened(gone('other'));
    await clock.advance(500);
    expect(popName()).toBeUndefined();
    queue.happened(gone('b'));
    expect(popName()).toBe('high');
  });

  it('does so also while the pod waits for its back-off, and not while it is tried', async () => {
    const { queue, add, popName } = setUp();
    const gone: ClusterEvent = { kind: 'pod/removed', pod: podInfo(pod('a').build()) };
    add('high');
    queue.park(queue.pop()!, waitsForNode, ['uid-a']);
    queue.happened(nodeAdded);
    expect(popName()).toBeUndefined();
    queue.happened(gone);
    const item = queue.pop()!;
    expect(item.pod.uid).toBe('uid-high');
    queue.park(item, waitsForNode, ['uid-a']);
    queue.remove('uid-high');
    queue.happened(gone);
    expect([popName(), queue.sizes()]).toEqual([undefined, { active: 0, backoff: 0, unschedulable: 0, inflight: 0 }]);
  });

  it('tries a pod again after its back-off when those that should leave for it stay', async () => {
    const { queue, add, popName, clock } = setUp();
    add('high');
    queue.park(queue.pop()!, waitsForNode, ['uid-a']);
    queue.stopWaiting('uid-high');
    expect(popName()).toBeUndefined();
    await clock.advance(1_000);
    expect(popName()).toBe('high');
  });
});
