import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { isCancelled, isExpired, isNotFound, isTimeout, isUnavailable } from '../../api/errors/index.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import { startTimeout } from '../../api/meta/timeout.ts';
import type { JsonObject, ObjectsClient } from '../../client/index.ts';
import type { Target } from '../get/targets.ts';

/** Between attempts to reach a server that went away while something is waited for. */
const retryMs = 500;

/** How waiting for one object ended: as wanted (without the object: it does not exist), or out of time. */
export type Waited = { readonly met: true; readonly object: JsonObject | undefined } | { readonly met: false };

/**
 * Waits until one object is as wanted (undefined: it does not exist), reading it first and then following its changes,
 * through a server that restarts meanwhile. `isWanted` may throw to give up. Ends unmet when the signal aborts.
 */
export async function waitForObject(
  objects: ObjectsClient,
  target: Target,
  isWanted: (object: JsonObject | undefined) => boolean,
  signal: AbortSignal,
  rest: (ms: number) => Promise<unknown> = (ms) => delay(ms, undefined, { signal }),
): Promise<Waited> {
  // One command waits for any number of objects with one signal; Node.js would call the eleventh listener a leak.
  setMaxListeners(Number.POSITIVE_INFINITY, signal);
  for (let reached = false; ; ) {
    try {
      for await (const object of states(objects, target, signal)) {
        reached = true;
        if (isWanted(object)) return { met: true, object };
      }
    } catch (error) {
      if (isCancelled(error) && signal.aborted) return { met: false };
      // The kind is gone with its definition, and all objects with it.
      if (isNotFound(error) && isWanted(undefined)) return { met: true, object: undefined };
      // With --request-timeout a watch ends while there is still time to wait.
      if (!isExpired(error) && !(reached && (isUnavailable(error) || isTimeout(error)))) throw error;
      await rest(retryMs).catch(() => undefined);
    }
    if (signal.aborted) return { met: false };
  }
}

/**
 * Waits until every one is as wanted, one after the other: all must be in the end, and so one watch at a time is enough
 * for any number of them. Answers the first that was not when the signal aborted. `isWanted` and `show` get the target
 * that is waited for.
 */
export async function waitForEach<T extends Target>(
  objects: ObjectsClient,
  targets: readonly T[],
  { isWanted, show }: { isWanted(target: T, object: JsonObject | undefined): boolean; show(target: T, others: number): void },
  signal: AbortSignal,
): Promise<T | undefined> {
  for (const [at, target] of targets.entries()) {
    show(target, targets.length - at - 1);
    if (!(await waitForObject(objects, target, (object) => isWanted(target, object), signal)).met) return target;
  }
  return undefined;
}

/** A signal that aborts after so many milliseconds. */
export const timeoutSignal = (ms: number): AbortSignal => startTimeout(ms).signal;

/**
 * The object as it is, also when no time is left, and after each change; undefined while it does not exist.
 * Ends as the watch does.
 */
async function* states(
  objects: ObjectsClient,
  { kind, key }: Target,
  signal: AbortSignal,
): AsyncIterable<JsonObject | undefined> {
  const scope = { namespace: key.namespace, fieldSelector: `metadata.name=${key.name}` };
  const page = await objects.list(kindWord(kind), scope);
  yield page.items[0];
  const from = { ...scope, resourceVersion: page.metadata.resourceVersion };
  for await (const events of objects.watch(kindWord(kind), from, { signal }))
    for (const { type, object } of events) if (type !== 'BOOKMARK') yield type === 'DELETED' ? undefined : object;
}
