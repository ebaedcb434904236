import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import { EntryDecoder } from '../watch/entry.ts';
import { SharedFrames } from '../watch/shared-frames.ts';
import type { AnyObject } from './any-object.ts';
import type { KindStore } from './kind-store.ts';

/**
 * The same store as another version of its kind. One with a conversion is read and written at the edge alone: the store
 * and its rules go on with the stored version. Versions of kinds that users added have none: the same objects are
 * written, validated and shown as that version has them. What is stored says nothing of versions.
 */
export function storeAs(store: KindStore, kind: Kind): KindStore {
  if (kind.conversion) return Object.create(store, { served: { value: kind } });
  const cache = Object.create(store.cache, {
    kind: { value: kind },
    decoder: { value: new EntryDecoder(kind) },
    frames: { value: new SharedFrames(() => store.cache.now()) },
  });
  return Object.create(store, { kind: { value: kind }, cache: { value: cache } });
}

/** The version that requests to a store are written and answered in. */
export function servedKind({ kind, served }: KindStore): Kind {
  return served ?? kind;
}

/** An object of the served version as it is stored. Throws INVALID_ARGUMENT. */
export function asStored({ served }: KindStore, sent: AnyObject): AnyObject {
  return served?.conversion ? (served.conversion.toStored(sent) as AnyObject) : sent;
}

/** A stored object in the served version. */
export function asServed<T extends ApiObject>({ served }: KindStore, object: T): T {
  return served?.conversion ? (served.conversion.fromStored(object) as T) : object;
}

/** The same of encoded objects. */
export function servedBytes(store: KindStore, bytes: Buffer): Buffer {
  if (!store.served) return bytes;
  return encodeMessage(store.served.message, asServed(store, decodeMessage<ApiObject>(store.kind.message, bytes)));
}

/** What a client is told of the version that it uses. */
export function versionWarnings(store: KindStore): readonly string[] {
  const { deprecation } = servedKind(store);
  return deprecation === undefined ? [] : [deprecation];
}

/** The options of a list or watch with the stored version's names of the fields that they select by. */
export function storedSelection<T extends { readonly fieldSelector?: string }>({ served }: KindStore, options: T): T {
  const { fieldSelector } = options;
  if (!served?.conversion || !fieldSelector) return options;
  const { selectedField } = served.conversion;
  const named = fieldSelector.split(',').map((part) => part.replace(/^\s*[^=!\s]+/, (name) => selectedField(name.trim())));
  return { ...options, fieldSelector: named.join(',') };
}
