import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { ObjectsClient } from '../../client/index.ts';
import { type Tree, text } from '../describe/json.ts';
import { listAllJson } from '../get/listing.ts';
import type { Target } from '../get/targets.ts';
import { obstaclesOf, refusalsIn } from './obstacles.ts';
import { readOwnedPods } from './owned-pods.ts';
import { hasPodSelector } from './pod-selector.ts';
import { troubleLine } from './trouble-text.ts';
import { groupTroubles, type Trouble } from './troubles.ts';

/** One reason why a pod or workload is not as it should be. */
export interface TroubleLine {
  /** The same while the trouble is the same. */
  readonly key: string;
  readonly line: string;
}

/** A pod that runs and is not ready is no news before that. */
const unreadyMs = 30_000;

/**
 * What keeps an object from being up, a line each: its own obstacles, and the troubles of its present pods. Nothing for
 * kinds without pods, and where the caller may not read them.
 */
export async function readTroubles(objects: ObjectsClient, { kind, key }: Target, now: () => number): Promise<TroubleLine[]> {
  if (kind.kind !== 'Pod' && (!hasPodSelector(kind) || kind.kind === 'Service')) return [];
  try {
    const object = await objects.get(kindWord(kind), key);
    if (kind.kind === 'Pod') return linesOf([object], now());
    const [{ current }, events] = await Promise.all([readOwnedPods(objects, kind, object), readEventsOf(objects, object)]);
    const obstacles = [...obstaclesOf(kind.kind, object), ...refusalsIn(kind.kind, events, now())];
    // Each refusal names another pod that was not made.
    return [...obstacles.map(({ type, what }) => ({ key: type, line: what })), ...linesOf(current, now())];
  } catch {
    // What is waited for goes on; a reason is only an addition to it.
    return [];
  }
}

/** The events about an object. */
export async function readEventsOf(objects: ObjectsClient, object: Tree): Promise<Tree[]> {
  const fieldSelector = `involvedObject.uid=${text(object, 'metadata', 'uid')}`;
  return await listAllJson(objects, kindNamed('Event'), {
    namespace: text(object, 'metadata', 'namespace') || undefined,
    fieldSelector,
  });
}

function linesOf(pods: readonly Tree[], now: number): TroubleLine[] {
  return groupTroubles(pods, now)
    .filter((trouble) => isNews(trouble, now))
    .map((trouble) => ({ key: trouble.key, line: troubleLine(trouble) }));
}

function isNews({ type, since }: Trouble, now: number): boolean {
  return type !== 'starting' && (type !== 'unready' || (since > 0 && now - since >= unreadyMs));
}
