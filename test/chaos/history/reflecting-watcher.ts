import type { ConfigMap } from '../../../api/generated/types.ts';
import { type ConnectOptions, connect, createReflector, type Logger, type Scope } from '../../../client/index.ts';
import { namespace, retryMs, revisionOf, Sight, type Watcher } from './watcher.ts';

/** A list that the reflector handed on: its version, and what was there. */
export interface Listed {
  readonly revision: number;
  readonly objects: ReadonlyMap<string, number>;
}

const nothing = (): void => {};
const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** The reflector that every part of Berth stands on, over the real client, with a sink that remembers. */
export function createReflectingWatcher(target: ConnectOptions): Watcher & { readonly lists: readonly Listed[] } {
  const sight = new Sight();
  const lists: Listed[] = [];
  const client = connect(target);
  const { configMaps } = client;
  let listed = 0;
  let resuming = false;
  const observed = {
    async list(scope?: Scope, call?: Parameters<typeof configMaps.list>[1]) {
      const page = await configMaps.list(scope, call);
      // All pages show the version of the first.
      if (!scope?.continue) listed = Number(page.metadata.resourceVersion);
      return page;
    },
    async *watch(...args: Parameters<typeof configMaps.watch>) {
      try {
        for await (const batch of configMaps.watch(...args)) {
          if (resuming) sight.resumes++;
          resuming = false;
          yield batch;
        }
      } finally {
        resuming = true;
      }
    },
  };
  const reflector = createReflector<ConfigMap>({
    name: 'chaos',
    client: observed,
    scope: { namespace },
    backoff: { initialMs: retryMs, maxMs: 4 * retryMs },
    logger: silent,
    sink: {
      replace(objects) {
        if (sight.stretches.length > 0) sight.expired.push({ from: sight.to, newest: listed });
        lists.push({ revision: listed, objects: new Map(objects.map((each) => [each.metadata?.name ?? '', revisionOf(each)])) });
        sight.begin(listed);
        resuming = false;
      },
      apply: (events) => sight.take(events),
    },
  });
  return {
    name: 'reflector',
    sight,
    lists,
    async run(signal) {
      await reflector.run(signal);
      client.close();
    },
  };
}
