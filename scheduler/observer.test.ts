import { describe, expect, it } from 'vitest';
import type { Pod } from '../api/generated/types.ts';
import { pod } from '../test/builders/index.ts';
import { createCache } from './cache/cache.ts';
import { podInfo } from './framework/pod-info.ts';
import { createObserver } from './observer.ts';

function setUp() {
  const cache = createCache({ now: () => 0 });
  const log: string[] = [];
  const queue = {
    add: ({ uid }: { uid: string }) => void log.push(`add ${uid}`),
    remove: (uid: string) => void log.push(`remove ${uid}`),
    happened: ({ kind }: { kind: string }) => void log.push(kind),
  };
  const { pods } = createObserver({ schedulerNames: new Set(['default-scheduler']), cache, queue });
  return { cache, log, pods };
}

const version = (object: Pod, resourceVersion: string): Pod => ({ ...object, metadata: { ...object.metadata, resourceVersion } });

describe('observer', () => {
  it('does not queue a pod again on an echo from before its binding', () => {
    const { cache, log, pods } = setUp();
    cache.assume(podInfo(pod('p').build()), 'n1');
    pods.onUpdate?.(pod('p').labels({ seen: 'late' }).build(), pod('p').build());
    expect(log).toEqual([]);
    cache.forget('uid-p');
    pods.onUpdate?.(pod('p').labels({ seen: 'later' }).build(), pod('p').build());
    expect(log).toEqual(['add uid-p']);
  });

  it('takes a bound pod out of the queue, also when another scheduler bound it', () => {
    const { log, pods } = setUp();
    pods.onAdd?.(pod('p').on('n1').build());
    expect(log).toEqual(['remove uid-p', 'pod/bound']);
  });

  it('sees an update to another uid as a removal and a new pod', () => {
    const { log, pods } = setUp();
    const old = version(pod('p').uid('first').on('n1').build(), '1');
    pods.onAdd?.(old);
    log.length = 0;
    pods.onUpdate?.(version(pod('p').uid('second').build(), '2'), old);
    expect(log).toEqual(['remove first', 'pod/removed', 'add second']);
  });
});
