import type { ContainerMetrics, NodeMetrics, Pod } from '../../api/generated/types.ts';
import { quantityMilli } from '../../api/meta/quantity.ts';
import { toMillis } from '../../api/meta/time.ts';

/** What the containers of a pod use, as its node measured it; both times are the node's. */
export interface PodUsage {
  readonly readAtMs: number;
  readonly windowMs: number;
  readonly containers: readonly ContainerMetrics[];
}

/** By the pod's uid. Pods that were not measured are missing. */
export type PodUsages = ReadonlyMap<string, PodUsage>;

/** A figure of one pod, in thousandths. */
export interface Figure {
  readonly milli: number;
  readonly readAtMs: number;
  readonly windowMs: number;
}

export type Figures = ReadonlyMap<string, Figure>;

/** Which figure of pods is meant: of one container, or of all together. */
export interface FigureName {
  readonly resource: string;
  readonly container?: string | undefined;
}

/** What these pods use; `metricsOf` gives the report of a node, undefined when there is none that is to be believed. */
export function usagesOf(pods: readonly Pod[], metricsOf: (node: string) => NodeMetrics | undefined): PodUsages {
  const wanted = new Map<string, Set<string>>();
  for (const { spec, metadata } of pods) {
    const node = spec?.nodeName;
    if (!node) continue;
    const uids = wanted.get(node) ?? new Set();
    wanted.set(node, uids.add(metadata?.uid ?? ''));
  }
  const usages = new Map<string, PodUsage>();
  for (const [node, uids] of wanted) {
    const report = metricsOf(node);
    if (!report?.timestamp) continue;
    const readAtMs = toMillis(report.timestamp);
    const windowMs = report.window ? toMillis(report.window) : 0;
    for (const { uid = '', containers = [] } of report.pods ?? [])
      if (uids.has(uid)) usages.set(uid, { readAtMs, windowMs, containers });
  }
  return usages;
}

/** Throws Error, in Kubernetes' words, when nothing was measured or a pod has no such container. */
export function figuresOf(pods: readonly Pod[], usages: PodUsages, { resource, container }: FigureName): Map<string, Figure> {
  const figures = new Map<string, Figure>();
  for (const { metadata } of pods) {
    const { uid = '', namespace = '', name = '' } = metadata ?? {};
    const usage = usages.get(uid);
    if (!usage) continue;
    const measured = container === undefined ? usage.containers : usage.containers.filter((each) => each.name === container);
    if (container !== undefined && measured.length === 0)
      throw new Error(`container ${container} not present in metrics for pod ${namespace}/${name}`);
    const milli = sumOf(measured, resource);
    if (milli !== undefined) figures.set(uid, { milli, readAtMs: usage.readAtMs, windowMs: usage.windowMs });
  }
  if (usages.size === 0) throw new Error('no metrics returned from resource metrics API');
  return figures;
}

/** Undefined where one of the containers was not measured yet. */
function sumOf(containers: readonly ContainerMetrics[], resource: string): number | undefined {
  if (containers.length === 0) return undefined;
  let sum = 0;
  for (const { usage } of containers) {
    const amount = usage?.[resource];
    if (!amount) return undefined;
    sum += quantityMilli(amount);
  }
  return sum;
}
