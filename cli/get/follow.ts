import { isCancelled, isExpired, isUnavailable } from '../../api/errors/index.ts';
import type { Table } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { createBackoff } from '../../client/backoff.ts';
import { type Clock, pause, systemClock } from '../../client/clock.ts';
import type { ObjectsClient, Scope } from '../../client/index.ts';
import { describeFailure } from '../program/failure.ts';

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

/**
 * The rows of a kind as they change, until the signal aborts: first the rows there are (with `initial`), then one for each change.
 * A stream that ends is resumed behind the last row, also when the server went away meanwhile; where that is no longer possible it starts
 * again from the present. Throws when the server cannot be reached at the start.
 */
export async function* followTable(
  objects: ObjectsClient,
  kind: Kind,
  { initial, deleted = true, onAway = tellAway, clock = systemClock, ...scope }: FollowOptions,
  signal: AbortSignal,
): AsyncIterable<Table> {
  const backoff = createBackoff({ maxMs: longestWaitMs });
  let [resourceVersion, reached, away]: [string | undefined, boolean, boolean] = [undefined, false, false];
  while (!signal.aborted) {
    try {
      if (resourceVersion === undefined) {
        const { metadata, table } = await objects.listTable(kind.kind, scope, { signal });
        resourceVersion = metadata.resourceVersion;
        reached = true;
        yield initial ? table : { columns: table.columns, rows: [] };
      }
      const from = { ...scope, resourceVersion, allowWatchBookmarks: true };
      for await (const changes of objects.watchTable(kind.kind, from, { signal })) {
        backoff.reset();
        away = false;
        for (const { type, table } of changes) {
          resourceVersion = table?.rows?.at(-1)?.resourceVersion ?? resourceVersion;
          if (table !== undefined && type !== 'BOOKMARK' && (deleted || type !== 'DELETED')) yield table;
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
