import type { Pod } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { isMirror, mirroredUid } from '../../api/kinds/pod/static-pods.ts';
import { objectKey, splitKey } from '../../api/meta/key.ts';
import type { Clock } from '../../client/clock.ts';
import type { Lister } from '../../client/informer/indexer.ts';
import type { Logger } from '../../client/logger.ts';
import type { ResourceClient } from '../../client/services/resource-client.ts';
import { createWorkQueue } from '../../client/work-queue/work-queue.ts';
import type { NodeView } from '../node/node-view.ts';
import type { PodRecord } from '../pod/pod-record.ts';
import { computeMirror, decideMirror } from './decide-mirror.ts';

/** Keeps the API's mirrors of this machine's static pods. */
export interface Mirrors {
  /** What the API has under this key, or should have, may be another. */
  wake(key: string): void;
  /** The API has changed what it has under this key. */
  seen(key: string): void;
  wakeAll(): void;
  /** The mirror of a static pod, as the API has it. */
  of(pod: Pod): Pod | undefined;
  /** The uid under which this machine knows a pod of the API. */
  uidHere(apiUid: string): string;
  /** Works until aborted. Only once the API's pods and the files are known. */
  run(signal: AbortSignal): Promise<void>;
}

export interface MirrorsOptions {
  readonly client: Pick<ResourceClient<Pod>, 'create' | 'delete'>;
  readonly node: Pick<NodeView, 'read'>;
  /** The API's pods that are bound to this node. */
  readonly pods: Pick<Lister<Pod>, 'get' | 'list'>;
  /** The static pods that files describe, by key. */
  wanted(): ReadonlyMap<string, Pod>;
  /** Whether no file that is broken may describe one more. */
  isKnown(): boolean;
  record(uid: string): PodRecord | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The server's answers come before its news. */
const newsMs = 10_000;
const atOnce = 4;

export function createMirrors(options: MirrorsOptions): Mirrors {
  const { client, node, pods, wanted, record, clock, logger } = options;
  const queue = createWorkQueue({ name: 'mirrors', backoff: { initialMs: 500, maxMs: 30_000 }, clock, logger });
  /** The creation times of mirrors that the informer has not delivered yet. */
  const made = new Map<string, number>();

  const mirrorAt = (key: string): Pod | undefined => {
    const found = pods.get(key);
    return found !== undefined && isMirror(found) ? found : undefined;
  };

  async function sync(key: string): Promise<void> {
    const mirror = mirrorAt(key);
    if (mirror === undefined && clock.now() - (made.get(key) ?? Number.NEGATIVE_INFINITY) < newsMs) return;
    const pod = wanted().get(key);
    const leaving = mirror !== undefined && record(mirroredUid(mirror) ?? '') !== undefined;
    const action = decideMirror({ wanted: pod, mirror, leaving, known: options.isKnown(), lives: lives(pod) });
    if (action === 'create' && pod !== undefined) await create(key, pod);
    else if (action === 'delete' && mirror !== undefined) await remove(key, mirror);
  }

  function lives(pod: Pod | undefined): boolean {
    const status = record(pod?.metadata?.uid ?? '')?.status;
    return status !== undefined && !isFinished({ status });
  }

  async function create(key: string, pod: Pod): Promise<void> {
    const { metadata } = await node.read();
    const mirror = computeMirror(pod, metadata?.uid ?? '');
    made.set(key, clock.now());
    try {
      await client.create(mirror);
    } catch (error) {
      made.delete(key);
      throw error;
    }
    logger.info({ pod: key }, 'made the mirror of a static pod');
  }

  async function remove(key: string, { metadata }: Pod): Promise<void> {
    const uid = metadata?.uid;
    await client.delete(splitKey(key), { gracePeriodSeconds: 0, preconditions: uid === undefined ? {} : { uid } });
    logger.info({ pod: key }, 'removed a mirror pod');
  }

  return {
    wake: (key) => queue.add(key),
    seen(key) {
      made.delete(key);
      queue.add(key);
    },
    wakeAll() {
      for (const key of wanted().keys()) queue.add(key);
      for (const pod of pods.list()) if (isMirror(pod)) queue.add(objectKey(pod));
    },
    of(pod) {
      const mirror = mirrorAt(objectKey(pod));
      return mirror !== undefined && mirroredUid(mirror) === pod.metadata?.uid ? mirror : undefined;
    },
    uidHere(apiUid) {
      const found = pods.list().find(({ metadata }) => metadata?.uid === apiUid);
      return (found && mirroredUid(found)) ?? apiUid;
    },
    run: (signal) => queue.run(atOnce, sync, signal),
  };
}
