import { isCancelled, isExpired, isUnavailable } from '../../api/errors/index.ts';
import type { Table } from '../../api/generated/types.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { createBackoff } from '../../client/backoff.ts';
import { type Clock, pause, systemClock } from '../../client/clock.ts';
import type { JsonObject, ObjectsClient, Scope, WatchEventType } from '../../client/index.ts';
import { describeFailure } from '../program/failure.ts';
import { listAllJson, listAllRows } from './listing.ts';

export interface FollowOptions extends Scope {
  /** First the rows there are. */
  readonly initial: boolean;
  /** Whether objects that are deleted give a last row; by default they do. */
  readonly deleted?: boolean;
  /** Told once each time the server is away, in a sentence. */
  readonly onAway?: (message: string) => void;
  readonly clock?: Clock;
}

/** A person waits for it: reconnect soon. */
const longestWaitMs = 2_000;

/** A kind's objects in one of the forms that the server gives. */
interface Followed<T> {
  /** All that there are. */
  list(scope: Scope, signal: AbortSignal): Promise<{ readonly version: string | undefined; readonly items: T }>;
  /** The same without any. */
  nothing(items: T): T | undefined;
  watch(scope: Scope & { resourceVersion: string | undefined }, signal: AbortSignal): AsyncIterable<Step<T>[]>;
}

interface Step<T> {
  readonly type: WatchEventType;
  readonly version: string | undefined;
  readonly items: T | undefined;
}

/** The rows of a kind as they change: see `follow`. */
export function followTable(
  objects: ObjectsClient,
  kind: Kind,
  options: FollowOptions,
  signal: AbortSignal,
): AsyncIterable<Table> {
  const form: Followed<Table> = {
    async list(scope) {
      let version: string | undefined;
      const items = await listAllRows(objects, kind, scope, { chunkSize: 0 }, (metadata) => {
        version = metadata.resourceVersion;
      });
      return { version, items };
    },
    nothing: ({ columns }) => ({ columns, rows: [] }),
    async *watch(scope, stop) {
      for await (const changes of objects.watchTable(kindWord(kind), scope, { signal: stop }))
        yield changes.map(({ type, table }) => ({ type, version: table?.rows?.at(-1)?.resourceVersion, items: table }));
    },
  };
  return follow(form, options, signal);
}

/** The objects of a kind as they change: see `follow`. */
export function followObjects(
  objects: ObjectsClient,
  kind: Kind,
  options: FollowOptions,
  signal: AbortSignal,
): AsyncIterable<readonly JsonObject[]> {
  const form: Followed<readonly JsonObject[]> = {
    async list(scope) {
      let version: string | undefined;
      const items = await listAllJson(objects, kind, scope, { chunkSize: 0 }, (metadata) => {
        version = metadata.resourceVersion;
      });
      return { version, items };
    },
    nothing: () => undefined,
    async *watch(scope, stop) {
      for await (const changes of objects.watch(kindWord(kind), scope, { signal: stop }))
        yield changes.map(({ type, object }) => ({ type, version: versionOf(object), items: [object] }));
    },
  };
  return follow(form, options, signal);
}

function versionOf({ metadata }: JsonObject): string | undefined {
  return (metadata as { resourceVersion?: string } | undefined)?.resourceVersion;
}

/**
 * What there is of a kind, until the signal aborts: first all (with `initial`), then each change. A stream that ends is
 * resumed behind the last change, also when the server went away meanwhile; where that is no longer possible it starts
 * again from the present. Throws when the server cannot be reached at the start.
 */
async function* follow<T>(
  form: Followed<T>,
  { initial, deleted = true, onAway = tellAway, clock = systemClock, ...scope }: FollowOptions,
  signal: AbortSignal,
): AsyncIterable<T> {
  const backoff = createBackoff({ maxMs: longestWaitMs });
  let [resourceVersion, reached, away]: [string | undefined, boolean, boolean] = [undefined, false, false];
  while (!signal.aborted) {
    try {
      if (resourceVersion === undefined) {
        const { version, items } = await form.list(scope, signal);
        resourceVersion = version;
        reached = true;
        const first = initial ? items : form.nothing(items);
        if (first !== undefined) yield first;
      }
      const from = { ...scope, resourceVersion, allowWatchBookmarks: true };
      for await (const steps of form.watch(from, signal)) {
        backoff.reset();
        away = false;
        for (const { type, version, items } of steps) {
          resourceVersion = version ?? resourceVersion;
          if (items !== undefined && type !== 'BOOKMARK' && (deleted || type !== 'DELETED')) yield items;
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      if (isExpired(error)) resourceVersion = undefined;
      else if (!reached || !(isUnavailable(error) || isCancelled(error))) throw error;
      else {
        if (!away) onAway(describeFailure(error));
        away = true;
        await pause(backoff.next(), signal, clock);
      }
    }
  }
}

function tellAway(message: string): void {
  process.stderr.write(`${message}; going on when the server is back\n`);
}
