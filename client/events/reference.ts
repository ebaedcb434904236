import type { ObjectReference } from '../../api/generated/types.ts';
import { kindOf } from '../../api/kinds/index.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';

/** Names an object for Events and owners. Objects in memory do not know their kind, so the caller says it ("Pod"). */
export function referenceTo(kind: string, object: ApiObject): ObjectReference {
  const { namespace, name, uid, resourceVersion } = object.metadata ?? {};
  const reference: ObjectReference = { kind, apiVersion: kindOf(kind)?.apiVersion ?? 'v1' };
  if (namespace !== undefined) reference.namespace = namespace;
  if (name !== undefined) reference.name = name;
  if (uid !== undefined) reference.uid = uid;
  if (resourceVersion !== undefined) reference.resourceVersion = resourceVersion;
  return reference;
}
