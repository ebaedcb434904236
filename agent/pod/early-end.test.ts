import { describe, expect, it } from 'vitest';
import { secondsTimestamp } from '../../api/meta/time.ts';
import { pod } from '../../test/builders/index.ts';
import { ago, container, dead, now } from '../../test/builders/plan.ts';
import type { PodBuilder } from '../../test/builders/pod.ts';
import { decideDeadline, isEvictable } from './early-end.ts';
import type { PodLifeEvent } from './pod-lifecycle.ts';
import { advance, createRecord, type PodRecord } from './pod-record.ts';

const web = pod('web').uid('u').container('app', { image: 'app:1' }).spec({ activeDeadlineSeconds: 60, restartPolicy: 'Never' });
const startedAgo = (seconds: number) => ({ startTime: secondsTimestamp(ago(seconds)) });
const why = { reason: 'Evicted', message: 'too much' };

/** Its container runs, and it has been through these events. */
function record(builder: PodBuilder, ...events: PodLifeEvent['type'][]): PodRecord {
  const made = createRecord('u', builder.build());
  made.containers.set('app-0', container('app'));
  for (const type of events) advance(made, { type, why, gracePeriodSeconds: 30 } as PodLifeEvent);
  return made;
}

describe('the deadline of a pod', () => {
  it.each<[string, PodRecord, string | undefined]>([
    ['ends an admitted pod when it has passed', record(web.status(startedAgo(60)), 'admit'), 'DeadlineExceeded'],
    ['leaves the pod alone before', record(web.status(startedAgo(59)), 'admit'), undefined],
    ['does not count before the pod has begun', record(web, 'admit'), undefined],
    ['does not end a refused pod', record(web.status(startedAgo(60)), 'refuse'), undefined],
    ['does not end a pod twice', record(web.status(startedAgo(60)), 'admit', 'end'), undefined],
    ['does not end a pod that leaves', record(web.status(startedAgo(60)), 'admit', 'delete'), undefined],
  ])('%s', (_, of, reason) => {
    expect(decideDeadline(of, now)?.reason).toBe(reason);
  });

  it('leaves a pod its own end when its containers ended for good before', () => {
    const ended = record(web.status(startedAgo(60)), 'admit');
    ended.containers.set('app-0', dead('app', 0, 1));
    expect(decideDeadline(ended, now)).toBeUndefined();
  });
});

describe('an eviction', () => {
  it.each<[string, PodRecord, boolean]>([
    ['ends an admitted pod', record(web, 'admit'), true],
    ['ends no pod that is not admitted', record(web), false],
    ['ends no pod that has ended in the API', record(web.phase('Failed'), 'admit'), false],
    ['ends no pod that leaves', record(web, 'admit', 'delete'), false],
    ['ends no static pod', record(web.uid('0123456789abcdef0123456789abcdef'), 'admit'), false],
  ])('%s', (_, of, expected) => {
    expect(isEvictable(of)).toBe(expected);
  });
});
