import type { ContainerMetrics, NodeMetrics, Pod, PodMetrics } from '../../api/generated/types.ts';
import { mirroredUid } from '../../api/kinds/pod/static-pods.ts';
import { objectKey } from '../../api/meta/key.ts';
import {
  cpuText,
  memoryText,
  orderUsage,
  readUsage,
  type SortColumn,
  staleAge,
  staleText,
  sumUsage,
  type TopTable,
} from './usage.ts';

export interface TopPodsOptions {
  readonly sortBy?: SortColumn | undefined;
  readonly containers?: boolean | undefined;
  readonly showNamespace?: boolean | undefined;
  readonly nowMs: number;
}

interface Measured {
  readonly pod: Pod;
  readonly key: string;
  readonly containers: readonly ContainerMetrics[];
}

/**
 * What pods, or their containers, use; memory is the working set, which the node could not take back. Pods are found in
 * the reports of their nodes by uid, so that a pod of the same name that is gone counts for nothing. Pure.
 */
export function computeTopPods(pods: readonly Pod[], metrics: readonly NodeMetrics[], options: TopPodsOptions): TopTable {
  const byUid = new Map<string, PodMetrics>();
  for (const { metadata, pods: reported = [] } of metrics)
    for (const pod of reported) byUid.set(`${metadata?.name} ${pod.uid}`, pod);
  const measured: Measured[] = [];
  const warnings = staleNodes(pods, metrics, options.nowMs);
  for (const pod of pods) {
    // A node tells of its own pods alone. Of a static pod it knows another uid than the mirror has.
    const found = byUid.get(`${pod.spec?.nodeName} ${mirroredUid(pod) ?? pod.metadata?.uid}`);
    if (found?.containers?.length) measured.push({ pod, key: objectKey(pod), containers: found.containers });
    else if (runs(pod))
      warnings.push(`pod "${pod.metadata?.name}" runs, but its node has not reported what it uses yet (it does so every 15 s)`);
  }
  const headings = [
    ...(options.showNamespace ? ['NAMESPACE'] : []),
    ...(options.containers ? ['POD'] : []),
    'NAME',
    'CPU(cores)',
    'MEMORY(bytes)',
  ];
  return { headings, rows: options.containers ? containerRows(measured, options) : podRows(measured, options), warnings };
}

/** Whether a container of it runs: one that crashes again and again uses nothing in between. */
function runs({ status = {} }: Pod): boolean {
  return [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].some(({ state }) => state?.running);
}

function podRows(measured: readonly Measured[], { sortBy, showNamespace }: TopPodsOptions): string[][] {
  const items = measured.map(({ pod, key, containers }) => ({
    pod,
    key,
    usage: sumUsage(containers.map((each) => readUsage(each.usage))),
  }));
  return orderUsage(items, sortBy).map(({ pod, usage }) => [
    ...(showNamespace ? [pod.metadata?.namespace ?? ''] : []),
    pod.metadata?.name ?? '',
    cpuText(usage.cpu),
    memoryText(usage.memory),
  ]);
}

function containerRows(measured: readonly Measured[], { sortBy, showNamespace }: TopPodsOptions): string[][] {
  const items = measured.flatMap(({ pod, key, containers }) =>
    containers.map((each) => ({ pod, name: each.name ?? '', key: `${key}/${each.name}`, usage: readUsage(each.usage) })),
  );
  return orderUsage(items, sortBy).map(({ pod, name, usage }) => [
    ...(showNamespace ? [pod.metadata?.namespace ?? ''] : []),
    pod.metadata?.name ?? '',
    name,
    cpuText(usage.cpu),
    memoryText(usage.memory),
  ]);
}

/** A warning for each node of these pods whose report is old. */
function staleNodes(pods: readonly Pod[], metrics: readonly NodeMetrics[], nowMs: number): string[] {
  const used = new Set(pods.map((pod) => pod.spec?.nodeName));
  return metrics.flatMap((each) => {
    const name = each.metadata?.name ?? '';
    const age = used.has(name) ? staleAge(each.timestamp, nowMs) : undefined;
    return age === undefined ? [] : [staleText(name, age)];
  });
}
