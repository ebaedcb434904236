import type { DaemonSet, IntOrString, Node, Pod } from '../../api/generated/types.ts';
import { templateGenerationOf } from '../../api/kinds/daemon-set/template-generation.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { scaled } from '../../api/kinds/pod-disruption-budget/scaled.ts';
import { compareTimestamps } from '../../api/meta/time.ts';
import { workloadLabels } from '../../api/meta/workload-names.ts';
import { isAvailable } from '../owned-pods/availability.ts';
import { type Eligibility, eligibilityOf } from './eligibility.ts';
import { targetNode } from './new-pod.ts';

/** What is decided on. */
export interface DaemonView {
  readonly set: DaemonSet;
  /** The hash of the present template's revision. */
  readonly hash: string;
  readonly nodes: readonly Node[];
  /** The set's pods, ended and ending ones included. */
  readonly pods: readonly Pod[];
  /** How long a pod that failed on this node is still to stay, in ms. */
  readonly replaceableInMs: (node: string) => number;
  readonly now: number;
}

export interface DaemonPlan {
  /** Nodes that get a pod. */
  readonly create: string[];
  readonly delete: Pod[];
  /** Pods that have ended, of those that are deleted, and the nodes that they were on. */
  readonly ended: { readonly pod: Pod; readonly node: string }[];
  /** When a pod that failed may be replaced. */
  againInMs?: number | undefined;
}

/** A node, and the pods of the set that are on it or tied to it. */
export interface Place {
  readonly node: string;
  readonly eligibility: Eligibility;
  /** In the order of Kubernetes: those that are scheduled first, then the oldest. */
  readonly pods: readonly Pod[];
}

/** So many pods are made, and deleted, at a time; then the outcome is looked at. Kubernetes' figure. */
const burst = 250;

/** The nodes, in the order of their names, and pods that are tied to nodes that do not exist. */
export function placesOf({ set, nodes, pods }: DaemonView): {
  readonly places: readonly Place[];
  readonly astray: readonly Pod[];
} {
  const byNode = new Map<string, Pod[]>();
  for (const pod of pods) {
    const node = targetNode(pod);
    // One that has ended and is on its way out holds nothing any more.
    if (node === undefined || (isFinished(pod) && isLeaving(pod))) continue;
    const others = byNode.get(node);
    if (others) others.push(pod);
    else byNode.set(node, [pod]);
  }
  const judge = eligibilityOf(set);
  const places = nodes.map((node): Place => {
    const name = node.metadata?.name ?? '';
    const own = byNode.get(name) ?? [];
    byNode.delete(name);
    return { node: name, eligibility: judge(node), pods: own.length > 1 ? own.sort(compareSeniority) : own };
  });
  // Pods that were on a node that is gone are the pod garbage collector's.
  const astray = [...byNode.values()].flat().filter((pod) => !pod.spec?.nodeName && !isLeaving(pod));
  return { places: places.sort((a, b) => (a.node < b.node ? -1 : 1)), astray };
}

function compareSeniority(a: Pod, b: Pod): number {
  return (
    Number(Boolean(b.spec?.nodeName)) - Number(Boolean(a.spec?.nodeName)) ||
    compareTimestamps(a.metadata?.creationTimestamp, b.metadata?.creationTimestamp) ||
    ((a.metadata?.name ?? '') < (b.metadata?.name ?? '') ? -1 : 1)
  );
}

export const isLeaving = ({ metadata }: Pod): boolean => metadata?.deletionTimestamp !== undefined;

/** Whether the pod is of the present template: by the hash, or, where it has none, by the older count of templates. */
export function isUpdated({ metadata }: Pod, { set, hash }: Pick<DaemonView, 'set' | 'hash'>): boolean {
  const own = metadata?.labels?.[workloadLabels.controllerRevisionHash];
  if (own !== undefined) return own === hash;
  const generation = templateGenerationOf(set);
  return generation !== undefined && metadata?.labels?.[workloadLabels.templateGeneration] === String(generation);
}

export const isServing = (pod: Pod, { set, now }: DaemonView): boolean => isAvailable(pod, set.spec?.minReadySeconds ?? 0, now);

/** How many nodes an update may have with a pod more, and without a pod that is available. */
export interface Bounds {
  readonly maxSurge: number;
  readonly maxUnavailable: number;
}

/** Percentages are of the nodes that should have a pod, rounded up. When both are 0, one may be unavailable. */
export function boundsOf({ spec }: DaemonSet, wanted: number): Bounds {
  const { maxSurge, maxUnavailable } = spec?.updateStrategy?.rollingUpdate ?? {};
  const of = (value: IntOrString | undefined): number => (value && scaled(value, wanted)) || 0;
  const bounds = { maxSurge: of(maxSurge), maxUnavailable: of(maxUnavailable) };
  return bounds.maxSurge === 0 && bounds.maxUnavailable === 0 ? { maxSurge: 0, maxUnavailable: 1 } : bounds;
}

/** Whether a node may have two pods for a while. */
export const surges = (set: DaemonSet): boolean => boundsOf(set, 1).maxSurge > 0;

/**
 * Which pods the nodes lack and have too many: each node that is to run one gets one when there is none left of it, and
 * keeps one; with a surge an old one that is ready, and a new one that is not available yet. Kubernetes' rules
 * (podsShouldBeOnNode), but that a pod which serves is never the one that is too many.
 */
export function decidePods(view: DaemonView): DaemonPlan {
  const { places, astray } = placesOf(view);
  const plan: DaemonPlan = { create: [], delete: [...astray], ended: [] };
  for (const place of places) {
    if (place.eligibility === 'leave') plan.delete.push(...place.pods.filter((pod) => !isLeaving(pod)));
    else decideOnNode(plan, view, place);
  }
  return withinBurst(plan);
}

/** The first part of a plan; what is left is decided on again. */
export function withinBurst({ create, delete: deleted, ended, againInMs }: DaemonPlan): DaemonPlan {
  const now = deleted.slice(0, burst);
  return { create: create.slice(0, burst), delete: now, ended: ended.filter(({ pod }) => now.includes(pod)), againInMs };
}

function decideOnNode(plan: DaemonPlan, view: DaemonView, { node, eligibility, pods }: Place): void {
  const staying = pods.filter((pod) => !isLeaving(pod));
  for (const pod of staying) if (isFinished(pod)) decideReplacement(plan, view, pod, node);
  const running = staying.filter((pod) => !isFinished(pod));
  const isWithout = surges(view.set) ? running.length === 0 : pods.length === 0;
  // A pod that failed and waits for its replacement keeps its place.
  if (isWithout && eligibility === 'run' && staying.length === 0) plan.create.push(node);
  if (running.length > 1) plan.delete.push(...(surges(view.set) ? excessOfSurge(running, view) : excess(running, view)));
}

function decideReplacement(plan: DaemonPlan, { replaceableInMs }: DaemonView, pod: Pod, node: string): void {
  const inMs = pod.status?.phase === 'Failed' ? replaceableInMs(node) : 0;
  if (inMs > 0) {
    plan.againInMs = Math.min(inMs, plan.againInMs ?? inMs);
    return;
  }
  plan.delete.push(pod);
  plan.ended.push({ pod, node });
}

/** Of several pods one stays that serves; without one, the first. (In Kubernetes it is the first in any case.) */
const pick = (pods: readonly Pod[], view: DaemonView): Pod | undefined => pods.find((pod) => isServing(pod, view)) ?? pods[0];

function excess(running: readonly Pod[], view: DaemonView): Pod[] {
  const kept = pick(running, view);
  return running.filter((pod) => pod !== kept);
}

/** With a surge all go but a new one, and an old one until that takes over. */
function excessOfSurge(running: readonly Pod[], view: DaemonView): Pod[] {
  const fresh = pick(
    running.filter((pod) => isUpdated(pod, view)),
    view,
  );
  const old = pick(
    running.filter((pod) => !isUpdated(pod, view)),
    view,
  );
  const isOldDone = old !== undefined && fresh !== undefined && (!isPodReady(old) || isServing(fresh, view));
  return running.filter((pod) => (pod !== fresh && pod !== old) || (pod === old && isOldDone));
}
