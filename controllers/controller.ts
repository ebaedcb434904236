import { isConflict } from '../api/errors/index.ts';
import type { ApiObject } from '../api/kinds/kind.ts';
import type { Growing } from '../api/meta/growing-set.ts';
import type { MetricsRegistry } from '../api/metrics/index.ts';
import { type Clock, createWorkQueue, type Informer, type Logger } from '../client/index.ts';

/**
 * A control loop. All of this room have this shape, and `runController` runs them:
 *
 *     sources --something changed--> keys --> work queue --> reconcile(key) --> calls of the API --> (changes)
 *
 * 1. Nothing is reconciled before every source knows all there is; then every key is, once.
 * 2. A key only says where to look. `reconcile` reads what is, computes what should be, and writes the difference; it
 *    may be called at
 *    any time and again, after a lost, doubled or late event as well, and then writes nothing.
 * 3. A key is never reconciled twice at once; one that changes meanwhile is reconciled again afterwards.
 * 4. Writes carry the version or uid that they were decided on. A conflict (ABORTED) is normal: the key is looked at
 *    again shortly.
 * 5. Any other error is logged and the key retried with back-off (0.2 s to 5 min).
 * 6. A controller remembers nothing that it could not do without: stopped at any moment and started again, it goes on
 *    from what it finds.
 */
export interface Controller {
  /** For logs, e.g. "node-lifecycle". */
  readonly name: string;
  readonly sources: readonly Source[];
  /** How many keys are worked on at once (default 4). */
  readonly workers?: number;
  /** May say when the key is to be looked at again though nothing changes; a change wakes it before. */
  reconcile(key: string, signal: AbortSignal): Promise<Again | undefined> | Promise<void>;
}

/** In how many milliseconds a key is looked at again. */
export interface Again {
  readonly afterMs: number;
}

/** Says that what a key stands for may have changed. */
export type Wake = (key: string) => void;

/** What wakes a controller: the changes of a kind (`changesOf`), or time. */
export interface Source {
  /** Tells of every key that there is and of every change from now on, until the returned function is called. */
  connect(wake: Wake): () => void;
  /** Resolves when it knows all there is, or when `signal` aborts. */
  waitForSync(signal: AbortSignal): Promise<void>;
}

export interface ChangesOptions<T> {
  /** Which updates add keys; by default all. */
  readonly matters?: (next: T, old: T) => boolean;
}

/** Wakes the keys on which an object bears; after an update also those on which it bore before. */
export function changesOf<T extends ApiObject>(
  informer: Pick<Informer<T>, 'addHandler' | 'waitForSync'>,
  keysOf: (object: T) => readonly string[],
  { matters = () => true }: ChangesOptions<T> = {},
): Source {
  return {
    waitForSync: (signal) => informer.waitForSync(signal),
    connect(wake) {
      const tell = (...objects: T[]) => {
        for (const key of new Set(objects.flatMap(keysOf))) wake(key);
      };
      const onUpdate = (next: T, old: T) => {
        if (matters(next, old)) tell(next, old);
      };
      return informer.addHandler({ name: 'controller', onAdd: tell, onUpdate, onDelete: tell });
    },
  };
}

/**
 * The changes of objects of all kinds, also of kinds that are added later. What `connect` returns is called when its
 * kind is removed, or when the source ends.
 */
export function changesOfAll<F extends { readonly informer: Pick<Informer<ApiObject>, 'addHandler' | 'waitForSync'> }>(
  followed: Growing<F>,
  connect: (each: F, wake: Wake) => () => void,
): Source {
  return {
    async waitForSync(signal) {
      // The first list of a kind may add kinds: that of CustomResourceDefinitions does.
      const known = new Set<F>();
      for (let before = -1; before < known.size && !signal.aborted; ) {
        before = known.size;
        for (const each of followed) known.add(each);
        await Promise.all(Array.from(known, ({ informer }) => informer.waitForSync(signal)));
      }
    },
    connect(wake) {
      const ends = new Map<F, () => void>();
      const leave = followed.follow(
        (each) => ends.set(each, connect(each, wake)),
        (each) => {
          ends.get(each)?.();
          ends.delete(each);
        },
      );
      return () => {
        leave();
        for (const end of ends.values()) end();
      };
    },
  };
}

export interface ControllerEnvironment {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: MetricsRegistry | undefined;
}

const defaultWorkers = 4;
/** By then the informers usually show what the write was too old for. */
const conflictRetryMs = 200;

/** Runs a controller until `signal` aborts and the keys in work are done. Its informers are run by the caller. */
export async function runController(
  controller: Controller,
  { clock, logger, metrics }: ControllerEnvironment,
  signal: AbortSignal,
): Promise<void> {
  const { name, sources, workers = defaultWorkers } = controller;
  const queue = createWorkQueue({ name, clock, logger, metrics });
  const disconnects = sources.map((source) => source.connect((key) => queue.add(key)));
  try {
    await Promise.all(sources.map((source) => source.waitForSync(signal)));
    if (!signal.aborted) logger.info({ controller: name }, 'controller started');
    await queue.run(workers, handle, signal);
  } finally {
    for (const disconnect of disconnects) disconnect();
  }

  async function handle(key: string): Promise<void> {
    try {
      const again = await controller.reconcile(key, signal);
      if (again) queue.addAfter(key, again.afterMs);
    } catch (error) {
      if (!isConflict(error)) throw error;
      queue.addAfter(key, conflictRetryMs);
    }
  }
}
