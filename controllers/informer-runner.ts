import { resourceOf } from '../api/kinds/identity.ts';
import type { ApiObject, Kind } from '../api/kinds/kind.ts';
import { linkAbort } from '../client/abort.ts';
import type { Informer, ResourceClient } from '../client/index.ts';
import type { ControllerEnvironment } from './controller.ts';
import type { FollowedKind } from './definition.ts';

/** What runs the informers of all controllers. */
export interface Runner {
  /** Runs it from now on, or from the beginning of `run`, until the returned function is called. */
  start(informer: Informer<ApiObject>): () => void;
  /** Runs all until `signal` aborts. */
  run(signal: AbortSignal): Promise<unknown>;
  /** Lists all again; resolves when every informer shows a list that was begun after the call. */
  relist(signal: AbortSignal): Promise<unknown>;
}

export function createRunner(): Runner {
  const running = new Set<Informer<ApiObject>>();
  const stops = new Map<Informer<ApiObject>, () => void>();
  const ends = new Set<Promise<void>>();
  let started: AbortSignal | undefined;

  function begin(informer: Informer<ApiObject>, signal: AbortSignal): void {
    const own = linkAbort(signal);
    stops.set(informer, own.abort);
    const end: Promise<void> = informer.run(own.signal).finally(() => {
      own.unlink();
      stops.delete(informer);
      running.delete(informer);
      ends.delete(end);
    });
    ends.add(end);
  }

  return {
    start(informer) {
      running.add(informer);
      if (started) begin(informer, started);
      return () => {
        running.delete(informer);
        stops.get(informer)?.();
      };
    },
    relist: (signal) => Promise.all(Array.from(running, (informer) => informer.relist(signal))),
    async run(signal) {
      started = signal;
      for (const informer of running) begin(informer, signal);
      // Informers of kinds that were added meanwhile end here too.
      while (ends.size > 0) await Promise.all(ends);
    },
  };
}

export interface KindInformer {
  readonly kind: Kind;
  readonly client: ResourceClient<ApiObject>;
  readonly informer: Informer<ApiObject>;
  followed?: FollowedKind;
  /** Ends the informer; undefined while it does not run. */
  stop: (() => void) | undefined;
}

/** The informer as controllers see it. It starts with the kind's first object; until then it is in sync, and empty. */
export function untilUsed(each: KindInformer): FollowedKind['informer'] {
  const { informer } = each;
  return {
    lister: informer.lister,
    addHandler: (handler) => informer.addHandler(handler),
    waitForSync: async (signal) => {
      if (each.stop) await informer.waitForSync(signal);
    },
  };
}

/** How many custom kinds are watched at once: the controllers share one connection, which takes 1,000 streams. */
const mostUsedKinds = 800;

/** Starts the informers of kinds that users added when the first object is made, as far as there is room. */
export function createUsedKinds(
  start: (each: KindInformer) => () => void,
  { logger }: Pick<ControllerEnvironment, 'logger'>,
  most = mostUsedKinds,
) {
  const running = new Set<KindInformer>();
  const waiting = new Set<KindInformer>();

  function use(each: KindInformer): void {
    if (running.size >= most) {
      waiting.add(each);
      const kind = resourceOf(each.kind);
      logger.error({ kind, most }, 'too many custom kinds have objects: owner references of this one are not followed');
      return;
    }
    running.add(each);
    each.stop = start(each);
  }

  return {
    use,
    /** Starts the informer of a waiting kind in place of this one. */
    forget(each: KindInformer): void {
      waiting.delete(each);
      const [next] = waiting;
      if (!running.delete(each) || !next) return;
      waiting.delete(next);
      use(next);
    },
  };
}
