import { describe, expect, it } from 'vitest';
import { conflict, unavailable } from '../../api/errors/index.ts';
import { pod } from '../../test/builders/index.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import '../../test/fakes/fake-patch.ts';
import { createFakePodClient } from '../../test/fakes/fake-pod-client.ts';
import { type PodInfo, podInfo } from '../framework/pod-info.ts';
import type { Preemption } from '../reporter.ts';
import { createEvictor } from './evictor.ts';

const { signal } = new AbortController();
const preemptor = podInfo(pod('high').build());

function setUp(...objects: ReturnType<ReturnType<typeof pod>['build']>[]) {
  const pods = createFakePodClient({ objects });
  const told: string[] = [];
  const reporter = {
    preempted: (victim: PodInfo, { preemptor: by, nodeName, isAgainstBudget }: Preemption) =>
      void told.push(`${victim.key} ${by.uid} ${nodeName}${isAgainstBudget ? ' against its budget' : ''}`),
  };
  const logger = createFakeLogger();
  const evictor = createEvictor({ pods, reporter, clock: createFakeClock(), logger });
  const evict = (...victims: typeof objects) =>
    evictor.evict(preemptor, { nominatedNodeName: 'n1', victims: victims.map(podInfo) }, signal);
  const evictAgainstBudget = (...victims: PodInfo[]) =>
    evictor.evict(preemptor, { nominatedNodeName: 'n1', victims, againstBudget: victims.slice(0, 1) }, signal);
  return { pods, evictor, evict, evictAgainstBudget, told, logger };
}

const low = pod('low').on('n1').build();

describe('victims', () => {
  it('are marked and then deleted in their own time, by uid, with an event', async () => {
    const { pods, evictor, evict, told } = setUp(low);
    const answer = evict(low);
    expect(evictor.isLeaving('uid-low')).toBe(true);
    expect(await answer).toBe(true);
    expect(pods.calls.map(({ method }) => method)).toEqual(['patch', 'delete']);
    expect(pods.calls[0]!.argument).toMatchObject({
      metadata: { uid: 'uid-low' },
      status: {
        conditions: [
          {
            type: 'DisruptionTarget',
            status: 'True',
            reason: 'PreemptionByScheduler',
            message: 'default-scheduler: preempting to accommodate a higher priority pod',
          },
        ],
      },
    });
    expect(told).toEqual(['default/low uid-high n1']);
  });

  it('are told of the budget that is broken', async () => {
    const other = pod('other').on('n1').build();
    const { evictAgainstBudget, told } = setUp(low, other);
    await evictAgainstBudget(podInfo(low), podInfo(other));
    expect(told).toEqual(['default/low uid-high n1 against its budget', 'default/other uid-high n1']);
  });

  it('leave until the API shows that they are gone', async () => {
    const { evictor, evict } = setUp(low);
    await evict(low);
    expect(evictor.isLeaving('uid-low')).toBe(true);
    evictor.pods.onDelete!(low);
    expect(evictor.isLeaving('uid-low')).toBe(false);
  });

  it('are not deleted twice, though another pod wants their room', async () => {
    const { pods, evict } = setUp(low);
    await Promise.all([evict(low), evict(low)]);
    expect(pods.callLog('delete')).toEqual(['delete default/low']);
  });

  it('are not deleted when they are on their way out', async () => {
    const leaving = pod('low').on('n1').deleting(0).build();
    const { pods, evict, told } = setUp(leaving);
    expect(await evict(leaving)).toBe(true);
    expect([pods.calls.filter(({ method }) => method === 'delete'), told]).toEqual([[], []]);
  });

  it.each([
    ['is gone already', undefined, true, []],
    ['is another one by now', conflict({ kind: 'Pod', name: 'low' }, 'the uid is another'), true, []],
    [
      'cannot be deleted now',
      unavailable('no server'),
      false,
      [['warn', 'deleting a victim failed, its preemptor will try again']],
    ],
  ] as const)('say how it ended: one that %s', async (_title, error, wanted, logged) => {
    const { pods, evictor, evict, logger } = setUp(...(error ? [low] : []));
    if (error) pods.failNext('delete', error);
    expect(await evict(low)).toBe(wanted);
    expect(evictor.isLeaving('uid-low')).toBe(wanted);
    expect(logger.lines.map(({ level, message }) => [level, message])).toEqual(logged);
  });
});
