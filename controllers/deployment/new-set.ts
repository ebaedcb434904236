import type { Deployment, ReplicaSet } from '../../api/generated/types.ts';
import { computeTemplateHash } from '../../api/kinds/pod-template/hash.ts';
import { controllerReference } from '../../api/meta/owner.ts';
import { workloadLabels } from '../../api/meta/workload-names.ts';
import { annotationsOfCurrent, sizeAnnotations } from './revisions.ts';

const kind = { apiVersion: 'apps/v1', kind: 'Deployment' };

/**
 * The ReplicaSet of a Deployment's present template. Its name is the Deployment's with a hash of the template, so that
 * two controllers, or one that asks twice, make the same one; label and selector keep its pods apart from those of
 * other templates.
 */
export function newReplicaSet(deployment: Deployment, old: readonly ReplicaSet[], replicas: number): ReplicaSet {
  const { metadata = {}, spec = {}, status } = deployment;
  const template = structuredClone(spec.template ?? {});
  const hash = computeTemplateHash(template, status?.collisionCount);
  const labels = { ...template.metadata?.labels, [workloadLabels.podTemplateHash]: hash };
  const selector = structuredClone(spec.selector ?? {});
  return {
    metadata: {
      name: `${metadata.name}-${hash}`,
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
      labels: { ...labels },
      annotations: { ...annotationsOfCurrent(deployment, undefined, old), ...sizeAnnotations(deployment) },
      ownerReferences: [controllerReference(kind, deployment)],
    },
    spec: {
      replicas,
      minReadySeconds: spec.minReadySeconds ?? 0,
      selector: { ...selector, matchLabels: { ...selector.matchLabels, [workloadLabels.podTemplateHash]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
}

/** The hash in a ReplicaSet's labels. */
export const hashOf = ({ metadata }: ReplicaSet): string => metadata?.labels?.[workloadLabels.podTemplateHash] ?? '';
