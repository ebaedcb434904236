import { badRequest } from '../../api/errors/index.ts';
import type { LabelSelector } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { formatLabelSelector, formatLabels } from '../../api/meta/labels.ts';
import { type Tree, tree } from '../describe/json.ts';

/** Kinds whose `spec.selector` is a LabelSelector, and those where it is a map of labels. */
const bySelector: readonly string[] = ['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet', 'Job'];
const byLabels: readonly string[] = ['ReplicationController', 'Service'];

/** Kinds whose objects say by a selector which pods are theirs. */
export const havingPods: readonly string[] = [...bySelector, ...byLabels];

/** Whether objects of a kind say by a selector which pods are theirs. */
export function hasPodSelector({ kind }: Pick<Kind, 'kind'>): boolean {
  return havingPods.includes(kind);
}

/** The selector of the pods of an object, as text. Throws INVALID_ARGUMENT for an object that has none. */
export function podSelectorOf(kind: Pick<Kind, 'kind' | 'singular'>, object: Tree): string {
  const selector = tree(object, 'spec', 'selector');
  const text = bySelector.includes(kind.kind)
    ? formatLabelSelector(selector as LabelSelector)
    : formatLabels(selector as Record<string, string>);
  if (!hasPodSelector(kind)) throw badRequest(noPods(kind));
  const outside = tree(object, 'spec').type === 'ExternalName';
  if (outside) throw badRequest(`this ${kind.singular} is an ExternalName: it leads out of the cluster, and to no pods`);
  if (text === '') throw badRequest(`this ${kind.singular} has no selector, and so no pods of its own`);
  return text;
}

function noPods({ kind, singular }: Pick<Kind, 'kind' | 'singular'>): string {
  if (kind === 'CronJob') return 'a cronjob has no pods of its own, but jobs that have: name one of them, job/NAME';
  return `a ${singular} has no pods: name a pod, or a deployment, replicaset, statefulset, daemonset, job or service`;
}
