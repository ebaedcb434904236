import { isCancelled, isExpired } from '../api/errors/index.ts';
import type { Table } from '../api/generated/types.ts';
import type { Kind } from '../api/kinds/kind.ts';
import type { ObjectsClient, Scope } from '../client/index.ts';

/**
 * The rows of a kind as they change, until the signal aborts: first the rows there are (with `initial`), then one for each change.
 * A stream that ends is resumed behind the last row; where that is no longer possible it starts again from the present. Objects that
 * are deleted give a last row, unless `deleted` is false.
 */
export async function* followTable(
  objects: ObjectsClient,
  kind: Kind,
  { initial, deleted = true, ...scope }: Scope & { readonly initial: boolean; readonly deleted?: boolean },
  signal: AbortSignal,
): AsyncIterable<Table> {
  let resourceVersion: string | undefined;
  while (!signal.aborted) {
    if (resourceVersion === undefined) {
      const { metadata, table } = await objects.listTable(kind.kind, scope, { signal });
      if (initial) yield table;
      else yield { columns: table.columns, rows: [] };
      resourceVersion = metadata.resourceVersion;
    }
    try {
      for await (const changes of objects.watchTable(kind.kind, { ...scope, resourceVersion }, { signal })) {
        for (const { type, table } of changes) {
          if (type === 'BOOKMARK' || table === undefined) continue;
          resourceVersion = table.rows?.at(-1)?.resourceVersion ?? resourceVersion;
          if (deleted || type !== 'DELETED') yield table;
        }
      }
    } catch (error) {
      if (isCancelled(error)) return;
      if (!isExpired(error)) throw error;
      resourceVersion = undefined;
    }
  }
}
