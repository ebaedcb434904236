import type { Kind } from '../../api/kinds/kind.ts';
import { EntryDecoder } from '../watch/entry.ts';
import { SharedFrames } from '../watch/shared-frames.ts';
import type { KindStore } from './kind-store.ts';

/**
 * The same store as another version of its kind: the same objects, which are written, validated and shown as that
 * version has them. What is stored says nothing of versions.
 */
export function storeAs(store: KindStore, kind: Kind): KindStore {
  const cache = Object.create(store.cache, {
    kind: { value: kind },
    decoder: { value: new EntryDecoder(kind) },
    frames: { value: new SharedFrames() },
  });
  return Object.create(store, { kind: { value: kind }, cache: { value: cache } });
}
