import type { ObjectMeta } from '../generated/types.ts';

/** Identifies an object of a kind for people and caches. */
export interface ObjectKey {
  readonly namespace?: string;
  readonly name: string;
}

/** "namespace/name", or "name" for objects without a namespace. */
export function objectKey(object: { metadata?: ObjectMeta }): string {
  const { namespace, name } = object.metadata ?? {};
  return namespace ? `${namespace}/${name ?? ''}` : (name ?? '');
}

/** The other way round. */
export function splitKey(key: string): ObjectKey {
  const slash = key.indexOf('/');
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
