import type { Logger } from 'pino';
import { isNotFound } from '../../api/errors/index.ts';
import { placeOf } from '../watch/entry.ts';
import type { AnyObject } from './any-object.ts';
import { deleteObject } from './delete.ts';
import { serverContext } from './ensure-namespaces.ts';
import type { KindStore } from './kind-store.ts';
import { hasSpecFinalizers } from './metadata.ts';
import type { Registry } from './registry.ts';

/** What is still there (pods that stop, objects with finalizers) is looked at again so often; only while a namespace is going. */
const AGAIN_MS = 1_000;

/**
 * Empties namespaces that are being deleted and then removes them, until the signal aborts. Woken by changes of namespaces; does nothing
 * while none is going. Level-triggered: it looks at the present state each time, so it may stop and start at any moment.
 */
export async function runNamespaceSweeper(registry: Registry, log: Logger, signal: AbortSignal): Promise<void> {
  const store = registry.store('Namespace');
  const bell = new Bell();
  const leave = store.cache.wave.add(() => bell.ring());
  const abort = (): void => bell.ring();
  signal.addEventListener('abort', abort);
  try {
    while (!signal.aborted) {
      const left = await sweepAll(registry, store, log, signal);
      if (!signal.aborted) await bell.wait(left > 0 ? AGAIN_MS : undefined);
    }
  } finally {
    leave();
    signal.removeEventListener('abort', abort);
  }
}

/** Answers how many namespaces are still going. */
async function sweepAll(registry: Registry, store: KindStore, log: Logger, signal: AbortSignal): Promise<number> {
  let left = 0;
  for (const entry of store.cache.range('namespaces/')) {
    if (signal.aborted) return left;
    if (!store.cache.decoder.decode(entry).metadata?.deletionTimestamp) continue;
    const { name } = placeOf(entry.key);
    try {
      if (!(await sweepNamespace(registry, store, name))) left++;
    } catch (error) {
      left++;
      log.warn({ err: error, namespace: name }, 'cannot empty the namespace yet');
    }
  }
  return left;
}

/** Deletes what is in the namespace; when nothing is left, lets the namespace itself go. True when it is done. */
async function sweepNamespace(registry: Registry, store: KindStore, name: string): Promise<boolean> {
  let left = 0;
  for (const contents of registry.stores.values()) {
    if (!contents.kind.namespaced) continue;
    await contents.fresh();
    const entries = contents.cache.range(`${contents.kind.plural}/${name}/`);
    left += entries.length;
    for (const entry of entries) {
      if (!contents.cache.decoder.decode(entry).metadata?.deletionTimestamp)
        await ignoreGone(deleteObject(contents, placeOf(entry.key), {}, serverContext));
    }
  }
  if (left > 0) return false;
  const compute = (previous: AnyObject): AnyObject => {
    if (!hasSpecFinalizers(previous)) return previous;
    return { ...previous, spec: {} };
  };
  await ignoreGone(store.change({ namespace: '', name }, { context: serverContext, verb: 'finalize', compute }));
  return true;
}

async function ignoreGone(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** Wakes one waiter; a ring while nobody waits is remembered. */
class Bell {
  private rung = false;
  private waiter: (() => void) | undefined;

  ring(): void {
    this.rung = true;
    this.waiter?.();
  }

  async wait(ms: number | undefined): Promise<void> {
    if (!this.rung) {
      await new Promise<void>((resolve) => {
        const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
        this.waiter = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.waiter = undefined;
    this.rung = false;
  }
}
