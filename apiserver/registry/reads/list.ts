import { setImmediate as turn } from 'node:timers/promises';
import { ApiError, badRequest, expired, isExpired } from '../../../api/errors/index.ts';
import type { ListMeta, ListOptions } from '../../../api/generated/types.ts';
import { resourceOf } from '../../../api/kinds/identity.ts';
import type { ListOptions as StoredListOptions, StoredObject, StoredPage } from '../../storage/storage.ts';
import { type Entry, sizeOfEntry } from '../../watch/entry.ts';
import { compileSelection, type Selection } from '../../watch/selection.ts';
import { stampResourceVersion } from '../../watch/stamp-resource-version.ts';
import type { KindStore } from '../kind-store.ts';
import { parseMatch, requireHistory } from '../resource-version.ts';
import { translated } from '../storage-errors.ts';
import { shownEntries } from '../stored-versions.ts';
import { decodeContinue, encodeContinue } from './continue-token.ts';
import { versionGone } from './find-version.ts';

export interface ListRequest {
  readonly namespace: string;
  readonly options: ListOptions;
}

export interface ListPage {
  readonly metadata: ListMeta;
  readonly items: readonly Entry[];
}

/** A page never exceeds this, so that no client's receive limit (4 MiB by default) is near. */
export const MAX_PAGE_BYTES = 2 * 1024 * 1024;
/** Of a page; the rest is for objects. */
const METADATA_BYTES = 1024;
/** Tag and length of each object. */
const ITEM_OVERHEAD = 8;
/** Selecting needs decoding; between so many objects other calls get their turn. */
const OBJECTS_PER_TURN = 500;
/**
 * They also get it when objects have been written for so long. The clock is read after every few objects, or fewer
 * large ones: to convert an autoscaler of 2,400 metrics takes as long as to write a thousand small objects.
 */
const TURN_MS = 5;
const OBJECTS_PER_LOOK = 32;
const BYTES_PER_LOOK = 64 * 1024;
/** How many objects are read from the log at a time. */
const STORED_BATCH = 500;
/** How many objects are brought into another version before the next of them are looked at. */
const SHOWN_AT_ONCE = 100;
/** How long a list waits for a version that has not come yet. */
const FUTURE_TIMEOUT_MS = 3_000;

export interface PageShape {
  /** How large an object is in the form that is sent; by default as it is stored. */
  readonly sizeOf?: ((entry: Entry) => number) | undefined;
  /** A page ends before it is larger than this, or with its first object. */
  readonly pageBytes?: number | undefined;
}

/** Objects in key order, from memory or from the log. */
interface Source {
  readonly revision: number;
  /** How many there are, when that is known. */
  readonly length: number | undefined;
  readonly entries: AsyncIterable<readonly Entry[]>;
}

/**
 * One page of the objects that a request selects. All pages of a list show one snapshot: from memory as far back as the
 * ring of changes reaches, else from the store's log. Relaxed kinds have no log; their later pages show the present
 * then.
 */
export async function listObjects(
  store: KindStore,
  { namespace, options }: ListRequest,
  { sizeOf = sizeOfEntry, pageBytes = MAX_PAGE_BYTES }: PageShape = {},
): Promise<ListPage> {
  const selection = compileSelection(store.cache, { namespace, ...options });
  const question = questionOf(store, selection);
  if ((options.limit ?? 0) < 0) throw badRequest('cannot list: limit must not be negative');
  const bounds = { limit: options.limit || Number.POSITIVE_INFINITY, sizeOf, mostBytes: pageBytes - METADATA_BYTES };
  const { source, page } = await readPage(store, selection, question, { options, bounds });
  const metadata: ListMeta = { resourceVersion: String(source.revision) };
  const last = page.items.at(-1);
  if (page.more && last) {
    metadata.continue = encodeContinue({ revision: source.revision, after: last.key }, question);
    if (selection.everything && source.length !== undefined) metadata.remainingItemCount = source.length - page.items.length;
  }
  return { metadata, items: page.items };
}

const questionOf = ({ kind }: KindStore, { id }: Selection): string => `${resourceOf(kind)}\0${id}`;

/** A continue token of the same list that begins with its first page: what a page with `metadata` showed. */
export function tokenOf(store: KindStore, { namespace, options }: ListRequest, { resourceVersion }: ListMeta): string {
  const selection = compileSelection(store.cache, { namespace, ...options });
  return encodeContinue({ revision: Number(resourceVersion), after: '' }, questionOf(store, selection));
}

/** Throws OUT_OF_RANGE; of a later page with a token that leads on through the present objects. */
async function readPage(
  store: KindStore,
  selection: Selection,
  question: string,
  { options, bounds }: { readonly options: ListOptions; readonly bounds: PageBounds },
) {
  try {
    const source = await chooseSource(store, selection, question, options);
    return { source, page: await fillPage(selection, shownSource(store, source), bounds) };
  } catch (error) {
    if (!options.continue || !isExpired(error)) throw error;
    const { after } = decodeContinue(options.continue, question);
    throw new ApiError('OUT_OF_RANGE', 'Expired', CONTINUE_EXPIRED, {
      cause: error,
      continueToken: encodeContinue({ revision: PRESENT, after }, question),
    });
  }
}

/** The same source in the version of the store: where a webhook converts, as far as the page reaches. */
function shownSource(store: KindStore, source: Source): Source {
  if (!store.versions.of?.mayWait) return source;
  async function* shown(): AsyncIterable<readonly Entry[]> {
    for await (const entries of source.entries)
      for (let from = 0; from < entries.length; from += SHOWN_AT_ONCE)
        yield shownEntries(store, entries.slice(from, from + SHOWN_AT_ONCE));
  }
  return { ...source, entries: shown() };
}

/** In a token: the version of the moment in which it is used. */
const PRESENT = 0;
/** The sentence by which Kubernetes' clients know what the token in the answer is for. */
const CONTINUE_EXPIRED =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
  'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
  'Continuing with the provided token results in an inconsistent list: objects that were created, changed or deleted ' +
  'since the first page may be missing or shown twice.';

async function chooseSource(store: KindStore, selection: Selection, question: string, options: ListOptions): Promise<Source> {
  const { resourceVersion = '', resourceVersionMatch = '' } = options;
  if (options.sendInitialEvents !== undefined) throw badRequest('cannot list: sendInitialEvents belongs to watches');
  if (options.continue) {
    if ((resourceVersion && resourceVersion !== '0') || resourceVersionMatch)
      throw badRequest('specifying resource version is not allowed when using continue: the first page has settled it');
    const { revision, after } = decodeContinue(options.continue, question);
    return nextPage(store, selection, revision, after);
  }
  const { version, exact } = versionOf(store, options);
  await awaitVersion(store, version);
  if (!exact) return fromMemory(store.cache.range(selection.prefix), store.cache.revision);
  if (isPresent(store, version)) return fromMemory(store.cache.range(selection.prefix), version);
  requireHistory(store.kind);
  return fromLog(store, selection, version, '');
}

/**
 * As in Kubernetes a page of a version is exactly that one, unless the request says otherwise; relaxed kinds cannot
 * show one.
 */
export function versionOf({ kind }: Pick<KindStore, 'kind'>, options: ListOptions): { version: number; exact: boolean } {
  const { version, exact } = parseMatch('list', options);
  const isPage = (options.limit ?? 0) > 0 && version > 0 && !options.resourceVersionMatch;
  return { version, exact: exact || (isPage && kind.durability === 'synced') };
}

/** One object as it was at a version; undefined when it did not exist then. */
export async function entryAt(store: KindStore, key: string, revision: number): Promise<Entry | undefined> {
  if (isPresent(store, revision)) return store.cache.get(key);
  requireHistory(store.kind);
  // Behind a prefix of its own the key itself comes first.
  const [found] = (await readStored(store, key, { revision, limit: 1 })).items;
  return found?.key === key ? stampedEntry(found) : undefined;
}

/** Whether nothing of the kind has changed since. */
function isPresent({ cache }: KindStore, revision: number): boolean {
  return cache.lastChange() <= revision && revision <= cache.revision;
}

/** Waits until the cache shows a version and every acknowledged write. */
export async function awaitVersion(store: KindStore, revision: number): Promise<void> {
  await store.fresh();
  if (await store.cache.reached(revision, FUTURE_TIMEOUT_MS)) return;
  const found = `Too large resource version: ${revision}, current: ${store.cache.revision}`;
  // By which Kubernetes' clients know that they should.
  const cause = { field: '', reason: 'ResourceVersionTooLarge', description: 'Too large resource version' };
  throw new ApiError('DEADLINE_EXCEEDED', 'Timeout', `${found}: try again or list without a version`, {
    ...{ retryAfterMs: 1_000, violations: [cause], parts: { of: 'text', message: `Timeout: ${found}` } },
  });
}

async function nextPage(store: KindStore, selection: Selection, revision: number, after: string): Promise<Source> {
  const { cache } = store;
  await store.fresh();
  if (revision === PRESENT) return fromMemory(cache.range(selection.prefix, after), cache.revision);
  const entries = revision <= cache.revision ? cache.rangeAt(selection.prefix, revision, after) : undefined;
  if (entries) return fromMemory(entries, revision);
  if (store.kind.durability === 'relaxed') return fromMemory(cache.range(selection.prefix, after), revision);
  return fromLog(store, selection, revision, after);
}

function fromLog(store: KindStore, selection: Selection, revision: number, after: string): Source {
  if (revision > store.cache.revision) throw expired(`version ${revision} is none that this server gave out: list again`);
  return { revision, length: undefined, entries: storedEntries(store, selection, revision, after) };
}

function fromMemory(entries: readonly Entry[], revision: number): Source {
  async function* all(): AsyncIterable<readonly Entry[]> {
    yield entries;
  }
  return { revision, length: entries.length, entries: all() };
}

async function* storedEntries(
  store: KindStore,
  selection: Selection,
  revision: number,
  start: string,
): AsyncIterable<readonly Entry[]> {
  for (let after = start; ; ) {
    const from = after ? { after } : {};
    const page = await readStored(store, selection.prefix, { revision, limit: STORED_BATCH, ...from });
    yield page.items.map(stampedEntry);
    const last = page.items.at(-1);
    if (!page.more || !last) return;
    after = last.key;
  }
}

/** Reads the past from the store. Throws OUT_OF_RANGE with a sentence that says how far back the history goes. */
async function readStored(store: KindStore, prefix: string, options: StoredListOptions): Promise<StoredPage> {
  try {
    return await translated({ kind: store.kind.kind }, store.storage.list(prefix, options));
  } catch (error) {
    throw isExpired(error) ? await versionGone(store.storage, options.revision ?? 0, store.origin().now) : error;
  }
}

function stampedEntry(item: StoredObject): Entry {
  return { ...item, bytes: stampResourceVersion(item.bytes, String(item.revision)) };
}

interface PageBounds {
  readonly limit: number;
  readonly mostBytes: number;
  sizeOf(entry: Entry): number;
}

async function fillPage(
  selection: Selection,
  source: Source,
  { limit, mostBytes, sizeOf }: PageBounds,
): Promise<{ items: Entry[]; more: boolean }> {
  const items: Entry[] = [];
  let bytes = 0;
  let [newObjects, newBytes] = [0, 0];
  let looked = 0;
  let turnAt = performance.now();
  for await (const entries of source.entries) {
    for (const entry of entries) {
      if (!selection.everything && ++looked % OBJECTS_PER_TURN === 0) await turn();
      if (!selection.matches(entry)) continue;
      if (items.length >= limit) return { items, more: true };
      const size = sizeOf(entry) + ITEM_OVERHEAD;
      if (items.length > 0 && bytes + size > mostBytes) return { items, more: true };
      items.push(entry);
      bytes += size;
      newBytes += size;
      if (++newObjects < OBJECTS_PER_LOOK && newBytes < BYTES_PER_LOOK) continue;
      [newObjects, newBytes] = [0, 0];
      if (performance.now() - turnAt <= TURN_MS) continue;
      await turn();
      turnAt = performance.now();
    }
  }
  return { items, more: false };
}
