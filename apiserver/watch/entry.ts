import { countElements } from '../../api/codec/elements.ts';
import { decodeMessage } from '../../api/codec/message.ts';
import { WireError } from '../../api/codec/wire-format.ts';
import type { ObjectMeta } from '../../api/generated/types.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import { RestingEvent } from '../storage/resting-event.ts';
import type { StorageEvent, StoredObject, WriteMemo } from '../storage/storage.ts';
import { metadataBytes, stampResourceVersion } from './stamp-resource-version.ts';

/**
 * One version of one object as it is served: encoded, with its resourceVersion. Never changed; a new version is a new
 * entry.
 */
export interface Entry {
  /** The storage key, see `KindStore.key`: "leases.coordination.k8s.io/default/l", or "nodes/a" without a namespace. */
  readonly key: string;
  readonly bytes: Buffer;
  readonly revision: number;
  labels?: Readonly<Record<string, string>>;
  fields?: Readonly<Record<string, string>>;
  elements?: number;
}

/**
 * A stored object as it is served. Undecodable bytes are kept: reads of this object fail, and others are not affected.
 */
export function makeEntry(key: string, bytes: Uint8Array, revision: number, memo?: WriteMemo): Entry {
  try {
    if (!memo) return { key, bytes: stampResourceVersion(bytes, String(revision)), revision };
    const { elements } = memo;
    const entry: Entry = { key, bytes: servedOnce(memo, bytes, revision), revision };
    if (elements !== undefined) entry.elements = elements;
    return entry;
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    return { key, bytes: Buffer.from(bytes), revision };
  }
}

/**
 * An object of a kind whose objects expire (Event): there are many, and none is read but in its first moments. So it
 * keeps its own bytes only until `rest`, and makes them of the store's from then on.
 */
class ExpiringEntry implements Entry {
  readonly key: string;
  readonly revision: number;
  labels?: Readonly<Record<string, string>>;
  fields?: Readonly<Record<string, string>>;
  elements?: number;
  readonly #stored: Pick<StorageEvent, 'bytes'>;
  readonly #size: number;
  #bytes: Buffer | undefined;

  constructor({ key, bytes, revision, elements }: Entry, stored: Pick<StorageEvent, 'bytes'>) {
    this.key = key;
    this.revision = revision;
    if (elements !== undefined) this.elements = elements;
    this.#stored = stored;
    this.#size = bytes.length;
    this.#bytes = bytes;
  }

  get bytes(): Buffer {
    return this.#bytes ?? makeEntry(this.key, this.#stored.bytes, this.revision).bytes;
  }

  get size(): number {
    return this.#size;
  }

  rest(): this {
    this.#bytes = undefined;
    return this;
  }
}

/** The entry of a write, for a kind whose objects expire. */
export function makeExpiringEntry(event: StorageEvent): Entry {
  return new ExpiringEntry(makeEntry(event.key, event.bytes, event.revision, event.memo), event);
}

/** The same of an object that was read from the store: at rest from the beginning. */
export function restingEntry({ key, bytes, revision }: StoredObject): Entry {
  return new ExpiringEntry(makeEntry(key, bytes, revision), new RestingEvent({ key, bytes, revision }).rest()).rest();
}

/** Told when no watch can want the entry as a change any more. */
export function restEntry(entry: Entry): void {
  if (entry instanceof ExpiringEntry) entry.rest();
}

/** How many bytes the object has, without making them where it rests. */
export function sizeOfEntry(entry: Entry): number {
  return entry instanceof ExpiringEntry ? entry.size : entry.bytes.length;
}

/** The object as it is served: made once, by the writer that acknowledges it or by the cache that shows it. */
export function servedOnce(memo: WriteMemo, bytes: Uint8Array, revision: number): Buffer {
  if (memo.served?.revision !== revision) memo.served = { bytes: stampResourceVersion(bytes, String(revision)), revision };
  return memo.served.bytes;
}

const noLabels: Readonly<Record<string, string>> = {};

/** The labels, read once from the metadata alone. */
export function labelsOf(entry: Entry): Readonly<Record<string, string>> {
  entry.labels ??= decodeMessage<ObjectMeta>('berth.meta.v1.ObjectMeta', metadataBytes(entry.bytes)).labels ?? noLabels;
  return entry.labels;
}

/** How many elements the object has, counted once: see countElements. Undecodable bytes have none. */
export function elementsOf(entry: { readonly bytes: Uint8Array; elements?: number | undefined }, { message }: Kind): number {
  if (entry.elements !== undefined) return entry.elements;
  try {
    entry.elements = countElements(message, entry.bytes);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    entry.elements = 0;
  }
  return entry.elements;
}

/** The namespace, read from the key; "" of what is in none. */
export function namespaceOf(key: string): string {
  const from = key.indexOf('/') + 1;
  const to = key.indexOf('/', from);
  return to < 0 ? '' : key.slice(from, to);
}

/** Namespace and name, read from the key. */
export function placeOf(key: string): { namespace: string; name: string } {
  const [, first = '', second] = key.split('/');
  return second === undefined ? { namespace: '', name: first } : { namespace: first, name: second };
}

/**
 * Decoded objects that several readers of one version are likely to want within moments of each other: so many, and
 * encoded so large, at most.
 */
const MEMO_SIZE = 128;
const MEMO_BYTES = 1024 * 1024;

/** Decodes entries for read-only callers; a caller that modifies the object decodes its own copy. */
export class EntryDecoder {
  readonly kind: Kind;
  readonly #memo = new Map<Entry, ApiObject>();
  #memoBytes = 0;

  constructor(kind: Kind) {
    this.kind = kind;
  }

  decode(entry: Entry): ApiObject {
    const known = this.#memo.get(entry);
    if (known) return known;
    const object = decodeMessage<ApiObject>(this.kind.message, entry.bytes);
    this.#memo.set(entry, object);
    this.#memoBytes += sizeOfEntry(entry);
    for (const oldest of this.#memo.keys()) {
      if (this.#memo.size <= MEMO_SIZE && this.#memoBytes <= MEMO_BYTES) break;
      this.#memo.delete(oldest);
      this.#memoBytes -= sizeOfEntry(oldest);
    }
    return object;
  }

  /** The fields that field selectors may name, computed once for each version. */
  fields(entry: Entry): Readonly<Record<string, string>> {
    if (entry.fields) return entry.fields;
    const { namespace, name } = placeOf(entry.key);
    const fields: Record<string, string> = { 'metadata.name': name, 'metadata.namespace': namespace };
    const selectable = Object.entries(this.kind.selectableFields);
    if (selectable.length > 0) {
      const object = this.decode(entry);
      for (const [path, read] of selectable) fields[path] = read(object);
    }
    entry.fields = fields;
    return fields;
  }
}
