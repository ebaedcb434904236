import type { Affinity, DaemonSet, NodeSelectorTerm, Pod, PodSpec, Toleration } from '../../api/generated/types.ts';
import { templateGenerationOf } from '../../api/kinds/daemon-set/template-generation.ts';
import { podOfTemplate } from '../../api/kinds/pod-template/pod-of-template.ts';
import { taintEffects, taints } from '../../api/meta/well-known.ts';
import { workloadLabels } from '../../api/meta/workload-names.ts';

export const daemonSetKind = { apiVersion: 'apps/v1', kind: 'DaemonSet' };

const { noSchedule, noExecute } = taintEffects;

/** What pods of DaemonSets tolerate besides: they stay on nodes in trouble, and come to nodes that take no others. */
const usual: readonly Toleration[] = [
  { key: taints.notReady, operator: 'Exists', effect: noExecute },
  { key: taints.unreachable, operator: 'Exists', effect: noExecute },
  { key: taints.diskPressure, operator: 'Exists', effect: noSchedule },
  { key: taints.memoryPressure, operator: 'Exists', effect: noSchedule },
  { key: taints.pidPressure, operator: 'Exists', effect: noSchedule },
  { key: taints.unschedulable, operator: 'Exists', effect: noSchedule },
];
const ofHostNetwork: Toleration = { key: taints.networkUnavailable, operator: 'Exists', effect: noSchedule };

/** The tolerations of a DaemonSet's pods. One of the template's that says the same, but for a time, is replaced. */
export function daemonTolerations(spec: PodSpec): Toleration[] {
  const added = spec.hostNetwork ? [...usual, ofHostNetwork] : usual;
  const result = [...(spec.tolerations ?? [])];
  for (const toleration of added) {
    const at = result.findIndex((each) => isAlike(each, toleration));
    if (at === -1) result.push({ ...toleration });
    else result[at] = { ...toleration };
  }
  return result;
}

const isAlike = (a: Toleration, b: Toleration): boolean =>
  a.key === b.key && a.operator === b.operator && a.effect === b.effect && (a.value ?? '') === (b.value ?? '');

/**
 * Ties a pod to a node through the scheduler: required node affinity by the node's name, in place of what the template
 * requires, which the node has been found to fulfil.
 */
export function affinityTo(node: string, affinity: Affinity | undefined): Affinity {
  const term: NodeSelectorTerm = { matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }] };
  const required = { nodeSelectorTerms: [term] };
  return {
    ...affinity,
    nodeAffinity: { ...affinity?.nodeAffinity, requiredDuringSchedulingIgnoredDuringExecution: required },
  };
}

/** The node that a pod is on or tied to. */
export function targetNode({ spec }: Pod): string | undefined {
  if (spec?.nodeName) return spec.nodeName;
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  for (const { matchFields = [] } of required?.nodeSelectorTerms ?? [])
    for (const { key, operator, values = [] } of matchFields)
      if (key === 'metadata.name' && operator === 'In') return values.length === 1 ? values[0] : undefined;
  return undefined;
}

/** The pod of a node. */
export function newPod(set: DaemonSet, node: string, hash: string): Pod {
  const { metadata, spec = {} } = podOfTemplate(set.spec?.template ?? {}, { kind: daemonSetKind, object: set });
  const generation = templateGenerationOf(set);
  const labels = {
    ...metadata?.labels,
    ...(generation !== undefined && { [workloadLabels.templateGeneration]: String(generation) }),
    [workloadLabels.controllerRevisionHash]: hash,
  };
  const affinity = affinityTo(node, spec.affinity);
  return { metadata: { ...metadata, labels }, spec: { ...spec, tolerations: daemonTolerations(spec), affinity } };
}
