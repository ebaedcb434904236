import { setImmediate as turn } from 'node:timers/promises';
import { computeFieldDifferences } from '../../../api/codec/field-differences.ts';
import { toJson } from '../../../api/codec/json.ts';
import { decodeMessage } from '../../../api/codec/message.ts';
import { badRequest, isExpired, notFound } from '../../../api/errors/index.ts';
import type { ObjectHistoryResponse, Revision } from '../../../api/generated/types.ts';
import type { ApiObject, Kind } from '../../../api/kinds/kind.ts';
import type { JsonObject } from '../../../api/meta/merge-patch.ts';
import { timestamp } from '../../../api/meta/time.ts';
import { withoutNoise } from '../../../api/meta/version-noise.ts';
import type { KeptWrite } from '../../storage/storage-history.ts';
import type { KindStore, ObjectName } from '../kind-store.ts';
import { requireHistory } from '../resource-version.ts';
import { translated } from '../storage-errors.ts';
import { decodeContinue, encodeContinue } from './continue-token.ts';
import { describeChanges } from './describe-changes.ts';
import { versionGone } from './find-version.ts';

export interface HistoryOptions {
  readonly limit: number;
  readonly continue: string;
  readonly wholeValues: boolean;
  /** Older versions are left out as if there were none. */
  readonly since: number;
}

/** The answer, complete. */
export type HistoryPage = ObjectHistoryResponse & { readonly revisions: Revision[] };

/** Versions are read so many at a time, each up to 1.5 MiB; between, other calls get their turn. */
const BATCH = 16;
/** As large as a page of a list. */
const PAGE_BYTES = 2 * 1024 * 1024;
/** The most versions of a page. */
const MAX_REVISIONS = 500;

/**
 * A page of the versions that an object has had, the newest first, each with what it changed. Throws NOT_FOUND when the
 * history knows none, OUT_OF_RANGE when it was shortened meanwhile.
 */
export async function objectHistory(store: KindStore, at: ObjectName, options: HistoryOptions): Promise<HistoryPage> {
  requireHistory(store.kind);
  if (options.limit < 0) throw badRequest('cannot read the history: limit must not be negative');
  if (!store.mayExist(at)) throw notFound(store.subject(at));
  const key = store.key(at);
  const before = options.continue ? decodeContinue(options.continue, key).revision : undefined;
  await store.fresh();
  const resourceVersion = String(store.cache.revision);
  const page = await readPage(store, key, before, options);
  if (page.revisions.length === 0 && before === undefined) throw notFound(store.subject(at));
  const { revisions, more } = page;
  const last = revisions.at(-1)?.resourceVersion;
  const token = more && last !== undefined ? encodeContinue({ revision: Number(last), after: '' }, key) : undefined;
  return { revisions, resourceVersion, ...(token !== undefined && { continue: token }) };
}

async function readPage(
  store: KindStore,
  key: string,
  start: number | undefined,
  { limit, wholeValues, since }: HistoryOptions,
): Promise<{ revisions: Revision[]; more: boolean }> {
  const most = Math.min(limit || MAX_REVISIONS, MAX_REVISIONS);
  const revisions: Revision[] = [];
  let bytes = 0;
  for await (const { write, older, compacted } of versions(store, key, { start, since })) {
    if (revisions.length === most) return { revisions, more: true };
    const revision = describeRevision(store.kind, write, { older, compacted, wholeValues });
    bytes += sizeOf(revision);
    if (revisions.length > 0 && bytes > PAGE_BYTES) return { revisions, more: true };
    revisions.push(revision);
  }
  return { revisions, more: false };
}

/** A write, and the one before it of the same key. */
interface Version {
  readonly write: KeptWrite;
  readonly older: KeptWrite | undefined;
  readonly compacted: number;
}

interface Span {
  readonly start: number | undefined;
  readonly since: number;
}

async function* versions(store: KindStore, key: string, { start, since }: Span): AsyncGenerator<Version> {
  let newer: KeptWrite | undefined;
  for (let before = start; ; ) {
    const page = await readBatch(store, key, before);
    const { compacted } = page;
    const shown = page.writes.filter(({ revision }) => revision >= since);
    for (const write of shown) {
      if (newer) yield { write: newer, older: write, compacted };
      newer = write;
    }
    if (!page.more || !newer || shown.length < page.writes.length) {
      if (newer) yield { write: newer, older: undefined, compacted };
      return;
    }
    before = newer.revision;
    await turn();
  }
}

async function readBatch(store: KindStore, key: string, before: number | undefined) {
  try {
    const from = before === undefined ? {} : { before };
    return await translated({ kind: store.kind.kind }, store.storage.history.writes(key, { limit: BATCH, ...from }));
  } catch (error) {
    throw isExpired(error) && before !== undefined ? await versionGone(store.storage, before, store.origin().now) : error;
  }
}

interface Background {
  readonly older: KeptWrite | undefined;
  readonly compacted: number;
  readonly wholeValues: boolean;
}

function describeRevision(kind: Kind, write: KeptWrite, { older, compacted, wholeValues }: Background): Revision {
  const object = decodeMessage<ApiObject>(kind.message, write.bytes);
  const previous = older?.type === 'put' ? older : undefined;
  // Behind the last compaction only the newest write of a key is kept; what stood before it is unknown, unless it was
  // the first.
  const beforeUnknown = !older && write.revision <= compacted && write.verb !== 'create';
  const type = write.type === 'delete' ? 'DELETED' : previous || beforeUnknown ? 'MODIFIED' : 'ADDED';
  const { revision, time, user, manager, verb } = write;
  return {
    resourceVersion: String(revision),
    type,
    time: timestamp(new Date(time)),
    user,
    manager,
    verb,
    uid: object.metadata?.uid ?? '',
    ...(beforeUnknown && { beforeUnknown }),
    ...(previous && describeChanges(kind, differences(kind, previous, object), wholeValues)),
  };
}

function differences(kind: Kind, previous: KeptWrite, object: ApiObject) {
  const before = comparable(kind, decodeMessage<ApiObject>(kind.message, previous.bytes));
  return computeFieldDifferences(kind.message, before, comparable(kind, object));
}

/** The generation counts what the other changes say. */
function comparable(kind: Kind, object: ApiObject): JsonObject {
  const { metadata, ...rest } = withoutNoise(toJson(kind, object));
  const { generation: _, ...kept } = metadata as JsonObject;
  return { metadata: kept, ...rest };
}

function sizeOf({ changes = [] }: Revision): number {
  return changes.reduce(
    (sum, { path = '', before = '', after = '' }) => sum + path.length + 3 * (before.length + after.length),
    300,
  );
}
