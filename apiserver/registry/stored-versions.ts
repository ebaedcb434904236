import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import type { Entry } from '../watch/entry.ts';

/**
 * The versions that the stored objects of a custom kind are in, where its definition has several. Each object says its
 * own; a webhook may make them those of another version, and then everything here may have to wait for it.
 */
export interface StoredVersions {
  /** The version that objects are stored in now: "v1". Unknown to those that leave objects as they are. */
  readonly storage?: string;
  /** Whether objects may have to be converted by a program outside. */
  readonly mayWait: boolean;
  /** Whether an object is in another version than the one that objects are stored in now. */
  isStale(bytes: Uint8Array): boolean;
  /** An entry in the version of a kind; undefined where the webhook has to be asked for it. */
  known(entry: Entry, kind: Kind): Entry | undefined;
  /** Entries in the version of a kind, in order. Throws INTERNAL with what the webhook did. */
  shown(entries: readonly Entry[], kind: Kind): Promise<readonly Entry[]>;
  /** An object that was encoded in the version of a kind, as it is stored. Throws as `shown`. */
  stored(bytes: Buffer, kind: Kind, replaces: Uint8Array | undefined): Buffer | Promise<Buffer>;
  /** Objects of one apiVersion of the kind as those of another one. Throws as `shown`. */
  converted(
    objects: readonly ApiObject[],
    versions: { readonly from: string; readonly to: string },
  ): Promise<readonly ApiObject[]>;
  /** The same objects for the server's own deletions: no webhook is asked, and each stays in its version. */
  readonly untouched: StoredVersions;
}

/** What is needed of a store. */
interface VersionedStore {
  readonly kind: Kind;
  readonly versions: { readonly of?: StoredVersions };
  readonly cache: { get(key: string): Entry | undefined };
}

/** Entries in the version of the store. */
export function shownEntries(store: VersionedStore, entries: readonly Entry[]): readonly Entry[] | Promise<readonly Entry[]> {
  const { of } = store.versions;
  return of?.mayWait ? of.shown(entries, store.kind) : entries;
}

/** The bytes of an object of the store, as they were read or written, in its version. */
export async function shownBytes(store: VersionedStore, given: Uint8Array, key = ''): Promise<Buffer> {
  const { of } = store.versions;
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
  if (!of?.mayWait) return bytes;
  const cached = store.cache.get(key);
  const entry = cached?.bytes === given ? cached : { key, bytes, revision: 0 };
  return (await of.shown([entry], store.kind))[0]!.bytes;
}

/** The same store for deletions of the server's own: they need no webhook. */
export function untouchedStore<S extends VersionedStore>(store: S): S {
  const { of } = store.versions;
  return of ? Object.create(store, { versions: { value: { of: of.untouched } } }) : store;
}
