import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { isConflict, isNotFound } from '../../../api/errors/index.ts';
import type { ClusterRole } from '../../../api/generated/types.ts';
import { decideAggregation, type StaleRole } from '../../authz/rbac/aggregate.ts';
import type { AnyObject } from '../any-object.ts';
import type { KindStore } from '../kind-store.ts';
import { nextVersion } from '../next-version.ts';
import type { Registry } from '../registry.ts';
import { serverContext } from '../server-context.ts';

/** Roles that are made of each other could go on for ever; people nest them two deep. */
const MAX_ROUNDS = 10;
/** How soon what went wrong is tried again, and at most how often anything is looked at. */
const RETRY_MS = 1_000;

/** Writes the rules of every cluster role that is made of others, until all are right. */
export async function syncAggregation(registry: Registry): Promise<void> {
  const store = registry.store('ClusterRole');
  for (let round = 0; round < MAX_ROUNDS; round++) {
    await store.fresh();
    const roles = store.cache.range(store.keyPrefix);
    const stale = decideAggregation(roles.map((entry) => store.cache.decoder.decode(entry) as ClusterRole));
    if (stale.length === 0) return;
    for (const each of stale) await writeRules(store, each);
  }
}

async function writeRules(store: KindStore, { name, rules }: StaleRole): Promise<void> {
  const compute = (previous: AnyObject): AnyObject => {
    const next = { ...structuredClone(previous), rules: structuredClone(rules) } as AnyObject;
    return nextVersion(store, 'object', next, previous);
  };
  try {
    await store.change({ namespace: '', name }, { context: serverContext, verb: 'update', compute });
  } catch (error) {
    // Gone meanwhile, or changed so often that the next look is soon.
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

/** Keeps them right while cluster roles come, change and go. */
export async function runAggregation(registry: Registry, log: Logger, signal: AbortSignal): Promise<void> {
  if (!registry.stores.has('ClusterRole')) return;
  let wake = (): void => {};
  let due = true;
  const notice = (): void => {
    due = true;
    wake();
  };
  const end = registry.store('ClusterRole').cache.observe({ reset: notice, event: notice });
  signal.addEventListener('abort', notice, { once: true });
  try {
    while (!signal.aborted) {
      if (!due) await new Promise<void>((resolve) => (wake = resolve));
      if (signal.aborted) return;
      due = false;
      try {
        await syncAggregation(registry);
      } catch (error) {
        log.warn({ err: error }, 'cannot write the rules of aggregated cluster roles: trying again');
        due = true;
        await pause(RETRY_MS, undefined, { signal }).catch(() => {});
      }
    }
  } finally {
    end();
    signal.removeEventListener('abort', notice);
  }
}
