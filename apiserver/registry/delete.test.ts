import { describe, expect, it } from 'vitest';
import type { DeleteOptions, ObjectMeta, Pod } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { Storage } from '../storage/storage.ts';
import { KindCache } from '../watch/kind-cache.ts';
import type { AnyObject } from './any-object.ts';
import { decideDelete } from './delete.ts';
import { KindStore } from './kind-store.ts';

/** A pod on a node whose own grace period is 5 s, deleted at second 1000 with a grace of 600 s. */
const waiting = { deletionTimestamp: { seconds: 1600 }, deletionGracePeriodSeconds: 600 };

/** What a delete at second 1100 makes of the pod's metadata. */
function deletedAgain(options: DeleteOptions, metadata: ObjectMeta = waiting, phase = 'Running'): ObjectMeta | 'remove' {
  const environment = { storage: {} as Storage, now: () => new Date(1_100_000), random: () => 0, uid: () => 'uid' };
  const pods = new KindStore(new KindCache(kindNamed('Pod')), environment);
  const pod: AnyObject & Pod = {
    metadata,
    spec: { nodeName: 'n1', terminationGracePeriodSeconds: 5, containers: [] },
    status: { phase },
  };
  const next = decideDelete(pods, options, pod);
  return next === 'remove' ? next : (next.metadata ?? {});
}

describe('a delete of a pod that is being deleted already', () => {
  it.each([
    { asked: 'names no grace period', options: {} },
    { asked: 'names a longer grace period', options: { gracePeriodSeconds: 601 } },
    { asked: 'names the same grace period', options: { gracePeriodSeconds: 600 } },
  ])('changes nothing when it $asked', ({ options }) => {
    expect(deletedAgain(options)).toMatchObject(waiting);
    expect(deletedAgain(options, waiting, 'Succeeded')).toMatchObject(waiting);
  });

  it('counts a shorter grace period from the first delete', () => {
    const shorter = { deletionTimestamp: { seconds: 1200 }, deletionGracePeriodSeconds: 200 };
    expect(deletedAgain({ gracePeriodSeconds: 200 })).toMatchObject(shorter);
    const over = { deletionTimestamp: { seconds: 1001 }, deletionGracePeriodSeconds: 1 };
    expect(deletedAgain({ gracePeriodSeconds: 1 })).toMatchObject(over);
  });

  it('removes the pod with a grace period of 0, or leaves it to its finalizers since the first delete', () => {
    expect(deletedAgain({ gracePeriodSeconds: 0 })).toBe('remove');
    const kept = deletedAgain({ gracePeriodSeconds: 0 }, { ...waiting, finalizers: ['example.com/a'] });
    expect(kept).toMatchObject({ deletionTimestamp: { seconds: 1000 }, deletionGracePeriodSeconds: 0 });
  });

  it('does not start a grace period for a pod that waits for its finalizers only', () => {
    const finalizing = { deletionTimestamp: { seconds: 1000 }, deletionGracePeriodSeconds: 0, finalizers: ['example.com/a'] };
    for (const options of [{}, { gracePeriodSeconds: 30 }]) expect(deletedAgain(options, finalizing)).toMatchObject(finalizing);
  });
});

it('a first delete takes the grace period of the pod from now on', () => {
  expect(deletedAgain({}, {})).toMatchObject({ deletionTimestamp: { seconds: 1105 }, deletionGracePeriodSeconds: 5 });
});
