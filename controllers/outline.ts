import type { ObjectMeta, Pod } from '../api/generated/types.ts';
import type { ApiObject } from '../api/kinds/kind.ts';

const metadataFields = [
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'deletionTimestamp',
  'ownerReferences',
  'finalizers',
] as const satisfies readonly (keyof ObjectMeta)[];

/** Who an object is, who owns it and what keeps it: all that collecting needs to know, of every object there is. */
export function outlineOf<T extends ApiObject>({ metadata = {} }: T): ApiObject {
  return { metadata: Object.fromEntries(metadataFields.flatMap((field) => (metadata[field] ? [[field, metadata[field]]] : []))) };
}

/** The same of a pod, with where it is and whether it has ended. */
export function podOutline(pod: Pod): Pod {
  const { nodeName } = pod.spec ?? {};
  const { phase } = pod.status ?? {};
  return { ...outlineOf(pod), spec: nodeName ? { nodeName } : {}, status: phase ? { phase } : {} };
}
