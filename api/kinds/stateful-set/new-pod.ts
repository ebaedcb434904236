import type { PersistentVolumeClaim, Pod, PodTemplateSpec, StatefulSet, Volume } from '../../generated/types.ts';
import { controllerReference } from '../../meta/owner.ts';
import { workloadLabels } from '../../meta/workload-names.ts';
import { podOfTemplate } from '../pod-template/pod-of-template.ts';

export const statefulSetKind = { apiVersion: 'apps/v1', kind: 'StatefulSet' };

export const podName = ({ metadata }: StatefulSet, ordinal: number): string => `${metadata?.name}-${ordinal}`;

/** The labels that say which of the set's pods one is. */
export function identityLabels(set: StatefulSet, ordinal: number): Record<string, string> {
  return { [workloadLabels.statefulSetPodName]: podName(set, ordinal), [workloadLabels.podIndex]: String(ordinal) };
}

/** The pod of an ordinal: a template's, with the name, the host name and the claims of its own. */
export function newPod(
  set: StatefulSet,
  ordinal: number,
  { template, revision }: { readonly template: PodTemplateSpec; readonly revision: string },
): Pod {
  const { metadata: { generateName: _, ...metadata } = {}, spec = {} } = podOfTemplate(template, {
    kind: statefulSetKind,
    object: set,
  });
  const name = podName(set, ordinal);
  const { serviceName } = set.spec ?? {};
  const labels = { ...metadata.labels, ...identityLabels(set, ordinal), [workloadLabels.controllerRevisionHash]: revision };
  return {
    metadata: { ...metadata, name, labels },
    spec: {
      ...spec,
      hostname: name,
      ...(serviceName && { subdomain: serviceName }),
      volumes: volumesOf(set, ordinal, spec.volumes),
    },
  };
}

/** The claims come first, and take the place of volumes of the same name. */
function volumesOf(set: StatefulSet, ordinal: number, own: readonly Volume[] = []): Volume[] {
  const claims = (set.spec?.volumeClaimTemplates ?? []).map((template): Volume => {
    const name = template.metadata?.name ?? '';
    return { name, volumeSource: { persistentVolumeClaim: { claimName: claimName(set, name, ordinal) } } };
  });
  const taken = new Set(claims.map(({ name }) => name));
  return [...claims, ...own.filter(({ name }) => !taken.has(name))];
}

export function claimName(set: StatefulSet, template: string, ordinal: number): string {
  return `${template}-${podName(set, ordinal)}`;
}

export function claimNames(set: StatefulSet, ordinal: number): string[] {
  return (set.spec?.volumeClaimTemplates ?? []).map(({ metadata }) => claimName(set, metadata?.name ?? '', ordinal));
}

/** The claims of an ordinal: the templates, with the labels of the selector. The set owns them when they go with it. */
export function newClaims(set: StatefulSet, ordinal: number): PersistentVolumeClaim[] {
  const { selector, persistentVolumeClaimRetentionPolicy, volumeClaimTemplates = [] } = set.spec ?? {};
  const goesWithSet = persistentVolumeClaimRetentionPolicy?.whenDeleted === 'Delete';
  return volumeClaimTemplates.map(({ metadata: { name = '', labels, annotations, finalizers } = {}, spec }) => ({
    metadata: {
      name: claimName(set, name, ordinal),
      ...(set.metadata?.namespace !== undefined && { namespace: set.metadata.namespace }),
      labels: { ...labels, ...selector?.matchLabels },
      ...(annotations && { annotations: { ...annotations } }),
      ...(finalizers && { finalizers: [...finalizers] }),
      ...(goesWithSet && { ownerReferences: [controllerReference(statefulSetKind, set)] }),
    },
    spec: structuredClone(spec ?? {}),
  }));
}
