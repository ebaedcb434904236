import type { ObjectMeta, Pod } from '../api/generated/types.ts';
import type { ApiObject } from '../api/kinds/kind.ts';
import { isPodReady } from '../api/kinds/pod/readiness.ts';

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

const readiness = { True: [{ type: 'Ready', status: 'True' }], False: [{ type: 'Ready', status: 'False' }] } as const;

/**
 * The same of a pod, with its labels, whether its spec is another, where it is, which claims it uses, whether it has
 * ended and whether it is ready.
 */
export function podOutline(pod: Pod): Pod {
  const { nodeName } = pod.spec ?? {};
  const { phase } = pod.status ?? {};
  const { labels, generation } = pod.metadata ?? {};
  const volumes = (pod.spec?.volumes ?? []).filter(({ volumeSource }) => volumeSource?.persistentVolumeClaim !== undefined);
  const spec = { ...(nodeName && { nodeName }), ...(volumes.length > 0 && { volumes }) };
  const { metadata } = outlineOf(pod);
  const conditions = isPodReady(pod) ? readiness.True : readiness.False;
  return {
    metadata: { ...metadata, ...(labels && { labels }), ...(generation && { generation }) },
    spec,
    status: { ...(phase && { phase }), conditions: [...conditions] },
  };
}
