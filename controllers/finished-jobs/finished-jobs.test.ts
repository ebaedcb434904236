import { afterEach, describe, expect, it } from 'vitest';
import type { Job } from '../../api/generated/types.ts';
import { createInformer } from '../../client/index.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import { runController } from '../controller.ts';
import { FinishedJobs } from './controller.ts';
import { expiresInMs } from './decide.ts';

const endedAt = Date.UTC(2026, 0, 1) / 1000;
function job(ttlSecondsAfterFinished: number | undefined, end?: string): Job {
  const condition = { type: end ?? 'Suspended', status: 'True', lastTransitionTime: { seconds: endedAt } };
  return {
    metadata: { namespace: 'a', name: 'work' },
    spec: { ...(ttlSecondsAfterFinished !== undefined && { ttlSecondsAfterFinished }) },
    status: { conditions: [condition] },
  };
}

describe('a finished Job', () => {
  it.each([
    ['goes after its seconds', job(60, 'Complete'), 60_000],
    ['goes after its seconds when it has failed', job(60, 'Failed'), 60_000],
    ['goes at once', job(0, 'Complete'), 0],
    ['stays without seconds', job(undefined, 'Complete'), undefined],
    ['stays before it has finished', job(0), undefined],
    ['goes already', { ...job(0, 'Complete'), metadata: { deletionTimestamp: { seconds: 1 } } }, undefined],
    [
      'stays when nothing says since when',
      { ...job(0), status: { conditions: [{ type: 'Complete', status: 'True' }] } },
      undefined,
    ],
  ])('%s', (_, each, ms) => {
    expect(expiresInMs(each, endedAt * 1000)).toBe(ms);
  });

  let end = async () => {};
  afterEach(() => end());
  it('is deleted with its pods, in the version that was judged, and not when it was given more time', async () => {
    const [clock, logger] = [createFakeClock(endedAt * 1000), createFakeLogger()];
    const jobs = createFakeResourceClient<Job>({ kind: 'Job', objects: [job(60, 'Complete')] });
    const informer = createInformer<Job>({ client: jobs, name: 'jobs', clock, logger });
    const stop = new AbortController();
    const controller = new FinishedJobs({ jobs: informer, writes: jobs, clock });
    const running = [informer.run(stop.signal), runController(controller, { clock, logger }, stop.signal)];
    end = async () => {
      stop.abort();
      await Promise.all(running);
    };
    await clock.advance(59_000);
    jobs.put(job(90, 'Complete'));
    await clock.advance(5_000);
    expect(jobs.objects()).toHaveLength(1);
    await clock.advance(30_000);
    expect(jobs.objects()).toEqual([]);
    const [call] = jobs.calls.filter(({ method }) => method === 'delete');
    expect(call?.argument).toEqual({ propagationPolicy: 'Background', preconditions: { uid: 'uid-1', resourceVersion: '2' } });
  });
});
