import type { ListMeta, Table } from '../../api/generated/types.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { JsonObject, ObjectsClient, Scope, TableScope } from '../../client/index.ts';
import type { ChunkSizeFlags } from '../args/chunk-size.ts';
import { usualChunkSize } from '../args/usual-chunk-size.ts';

/** Told of each page's metadata. */
type OnPage = (metadata: ListMeta) => void;

/** All objects that the scope names, page by page. */
export async function listAllJson(
  objects: ObjectsClient,
  kind: Kind,
  scope: Scope,
  flags: ChunkSizeFlags = {},
  onPage: OnPage = () => {},
): Promise<JsonObject[]> {
  const found: JsonObject[] = [];
  await eachPage(async (token) => {
    const page = await objects.list(kindWord(kind), { ...pageOf(scope, token), ...limitOf(flags) });
    found.push(...page.items);
    onPage(page.metadata);
    return page.metadata.continue;
  });
  return found;
}

/** The same as one table. */
export async function listAllRows(
  objects: ObjectsClient,
  kind: Kind,
  scope: TableScope,
  flags: ChunkSizeFlags = {},
  onPage: OnPage = () => {},
): Promise<Table> {
  const tables: Table[] = [];
  await eachPage(async (token) => {
    const page = await objects.listTable(kindWord(kind), { ...pageOf(scope, token), ...limitOf(flags) });
    tables.push(page.table);
    onPage(page.metadata);
    return page.metadata.continue;
  });
  return { columns: tables[0]?.columns ?? [], rows: tables.flatMap((table) => table.rows ?? []) };
}

function limitOf({ chunkSize = usualChunkSize }: ChunkSizeFlags): { limit?: number } {
  return chunkSize === 0 ? {} : { limit: chunkSize };
}

/** The token knows the version that the first page has settled. */
function pageOf<S extends Scope>(scope: S, token: string | undefined): S {
  return token === undefined ? scope : { ...scope, continue: token, resourceVersion: undefined, resourceVersionMatch: undefined };
}

async function eachPage(read: (token: string | undefined) => Promise<string | undefined>): Promise<void> {
  let token: string | undefined;
  do token = (await read(token)) || undefined;
  while (token !== undefined);
}
