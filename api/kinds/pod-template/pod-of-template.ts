import type { Pod, PodTemplateSpec } from '../../generated/types.ts';
import { subdomainNameError } from '../../meta/names.ts';
import { controllerReference } from '../../meta/owner.ts';
import type { ApiObject, Kind } from '../kind.ts';

/** What pods are made for, and controlled by. */
export interface PodOwner {
  readonly kind: Pick<Kind, 'apiVersion' | 'kind'>;
  readonly object: ApiObject;
}

/**
 * A new pod of a template, as Kubernetes makes it: labels, annotations, finalizers and spec are the template's, the
 * namespace is the owner's, and the name begins with the owner's. Shares nothing with the template.
 */
export function podOfTemplate(template: PodTemplateSpec, { kind, object }: PodOwner): Pod {
  const { labels, annotations, finalizers } = template.metadata ?? {};
  const { name = '', namespace } = object.metadata ?? {};
  return {
    metadata: {
      generateName: namePrefix(name),
      ...(namespace !== undefined && { namespace }),
      ...(labels && { labels: { ...labels } }),
      ...(annotations && { annotations: { ...annotations } }),
      ...(finalizers && { finalizers: [...finalizers] }),
      ownerReferences: [controllerReference(kind, object)],
    },
    spec: structuredClone(template.spec ?? {}),
  };
}

/** With a dash where a pod may be called so; a name that is as long as a name may be gets none. */
function namePrefix(name: string): string {
  const prefix = `${name}-`;
  return subdomainNameError(`${prefix}a`) === undefined ? prefix : name;
}
