import type { KindStore } from '../../registry/kind-store.ts';
import type { KindStores } from '../../registry/kind-stores.ts';
import { noSuchResource } from '../errors/no-such-resource.ts';
import type { ResourcePath } from './parse-path.ts';

/**
 * The store of the resource that a path names, in the version that it names. Throws NOT_FOUND, and UNAVAILABLE while
 * the versions of the kind change.
 */
export function findResource(stores: KindStores, { group, version, resource }: ResourcePath): KindStore {
  const apiVersion = group === '' ? version : `${group}/${version}`;
  for (const store of stores) {
    const { kind } = store;
    if (kind.plural !== resource) continue;
    if (kind.apiVersion === apiVersion) return store;
    if (stores.versionsOf(store.id).includes(apiVersion)) return stores.find({ kind: kind.kind, apiVersion });
  }
  throw noSuchResource(`the resource "${resource}.${version}${group && `.${group}`}"`);
}
