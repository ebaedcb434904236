import { notFound } from '../../../api/errors/index.ts';
import type { Duration, Node, NodeMetrics, Pod, PodMetrics, Quantity, Timestamp } from '../../../api/generated/types.ts';
import { mirroredUid } from '../../../api/kinds/pod/static-pods.ts';
import { parseFieldSelector } from '../../../api/meta/fields.ts';
import { parseLabelSelector } from '../../../api/meta/labels.ts';
import { parseQuantity, quantityValue } from '../../../api/meta/quantity.ts';
import { toRfc3339, truncatedTime } from '../../../api/meta/time.ts';
import type { KindStore } from '../../registry/kind-store.ts';

// metrics.k8s.io/v1beta1 as metrics-server answers it, from what the agents measured last.

const apiVersion = 'metrics.k8s.io/v1beta1';

/** The stores of the pods and nodes, and of what they use. */
export interface MetricsStores {
  readonly pods: KindStore;
  readonly nodes: KindStore;
  readonly measured: KindStore;
}

export interface MetricsWish {
  readonly namespace: string;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

type Usage = Readonly<Record<string, Quantity>> | undefined;

interface Measured {
  readonly metadata: { readonly name?: string; readonly namespace?: string; readonly labels?: Readonly<Record<string, string>> };
}

/** Throws NOT_FOUND for a node that is not there, or was not measured yet. */
export function nodeMetrics({ nodes, measured }: MetricsStores, name: string): object {
  const metrics = read<NodeMetrics>(measured, '', name);
  const node = read<Node>(nodes, '', name);
  if (!metrics || !node || !hasFigures(metrics.usage)) throw notFound({ kind: 'NodeMetrics', name });
  return { kind: 'NodeMetrics', apiVersion, ...nodeItem(metrics, node) };
}

/** Throws NOT_FOUND for a pod that is not there, or whose containers were not all measured yet. */
export function podMetrics({ pods, measured }: MetricsStores, namespace: string, name: string): object {
  const pod = read<Pod>(pods, namespace, name);
  const metrics = read<NodeMetrics>(measured, '', pod?.spec?.nodeName ?? '');
  const own = pod && metrics?.pods?.find(({ uid }) => uid === measuredUid(pod));
  if (!pod || !metrics || !own || !isMeasured(own)) throw notFound({ kind: 'PodMetrics', namespace, name });
  return { kind: 'PodMetrics', apiVersion, ...podItem(metrics, own, pod) };
}

export function nodeMetricsList({ nodes, measured }: MetricsStores, wish: MetricsWish): object {
  const items = allOf<NodeMetrics>(measured).flatMap((metrics) => {
    const node = read<Node>(nodes, '', metrics.metadata?.name ?? '');
    return node && hasFigures(metrics.usage) ? [nodeItem(metrics, node)] : [];
  });
  return { kind: 'NodeMetricsList', apiVersion, metadata: {}, items: selected(items, wish) };
}

export function podMetricsList({ pods, measured }: MetricsStores, wish: MetricsWish): object {
  const items = allOf<NodeMetrics>(measured).flatMap((metrics) => {
    const node = metrics.metadata?.name;
    const seen = new Set<string | undefined>();
    return (metrics.pods ?? []).flatMap((own) => {
      if ((wish.namespace !== '' && own.namespace !== wish.namespace) || seen.has(own.uid) || !isMeasured(own)) return [];
      const pod = read<Pod>(pods, own.namespace ?? '', own.name ?? '');
      // A node tells of its own pods alone.
      if (!pod || measuredUid(pod) !== own.uid || pod.spec?.nodeName !== node) return [];
      seen.add(own.uid);
      return [podItem(metrics, own, pod)];
    });
  });
  const placeOf = ({ metadata: { namespace = '', name = '' } }: Measured): string => `${namespace}/${name}`;
  items.sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
  return { kind: 'PodMetricsList', apiVersion, metadata: {}, items: selected(items, wish) };
}

/** Of a static pod its node knows another uid than its mirror has. */
const measuredUid = (pod: Pod): string | undefined => mirroredUid(pod) ?? pod.metadata?.uid;

/**
 * Whether each running container of a pod has its figures, processor time only from the second measurement on. As with
 * metrics-server, the pod is absent until then: a sum over some of its containers would read as what all use. So is a
 * pod of whose containers none runs, for its sandbox may still.
 */
const isMeasured = ({ containers = [] }: PodMetrics): boolean =>
  containers.length > 0 && containers.every(({ usage }) => hasFigures(usage));

const hasFigures = (usage: Usage): boolean => usage?.['cpu'] !== undefined && usage['memory'] !== undefined;

/** Those of the items that a list asks for. Throws INVALID_ARGUMENT for selectors that cannot be read. */
export function selected<T extends Measured>(
  items: readonly T[],
  { labelSelector, fieldSelector }: Omit<MetricsWish, 'namespace'>,
): readonly T[] {
  const labels = labelSelector ? parseLabelSelector(labelSelector) : undefined;
  const fields = fieldSelector ? parseFieldSelector(fieldSelector) : undefined;
  return items.filter(({ metadata }) => {
    const values: Readonly<Record<string, string | undefined>> = {
      'metadata.name': metadata.name,
      'metadata.namespace': metadata.namespace,
    };
    return (labels?.matches(metadata.labels) ?? true) && (fields?.matches((path) => values[path] ?? '') ?? true);
  });
}

const nodeItem = (metrics: NodeMetrics, { metadata: { name = '', labels } = {} }: Node) => ({
  metadata: { name, ...(labels && { labels }), ...measuredAt(metrics.timestamp) },
  ...momentOf(metrics),
  usage: usageOf(metrics.usage),
});

const podItem = (metrics: NodeMetrics, { containers = [] }: PodMetrics, { metadata = {} }: Pod) => {
  const { name = '', namespace = '', labels } = metadata;
  return {
    metadata: { name, namespace, ...(labels && { labels }), ...measuredAt(metrics.timestamp) },
    ...momentOf(metrics),
    containers: containers.map((container) => ({ name: container.name ?? '', usage: usageOf(container.usage) })),
  };
};

const measuredAt = (time: Timestamp | undefined) => ({ creationTimestamp: time ? toRfc3339(truncatedTime(time, 0)) : null });

const momentOf = ({ timestamp, window }: NodeMetrics) => ({
  timestamp: timestamp ? toRfc3339(truncatedTime(timestamp, 0)) : null,
  window: durationText(window),
});

/** CPU in millionths or thousandths of a core, memory in KiB, as metrics-server has them. */
function usageOf({ cpu, memory }: NonNullable<Usage> = {}) {
  return usageTexts(parseQuantity(cpu).nanos, BigInt(quantityValue(memory)));
}

export function usageTexts(cpuNanos: bigint, memoryBytes: bigint) {
  return {
    cpu: cpuNanos % 1_000_000n === 0n ? `${cpuNanos / 1_000_000n}m` : `${cpuNanos}n`,
    memory: `${(memoryBytes + 1023n) / 1024n}Ki`,
  };
}

/** "15s", "1m0s", "14.993s": as Go writes it. */
function durationText({ seconds = 0, nanos = 0 }: Duration = {}): string {
  const whole = Number(seconds);
  const [minutes, rest] = [Math.floor(whole / 60), (whole % 60) + nanos / 1e9];
  return `${minutes > 0 ? `${minutes}m` : ''}${Number(rest.toFixed(9))}s`;
}

function read<T>(store: KindStore, namespace: string, name: string): T | undefined {
  const entry = store.cache.get(store.key({ namespace, name }));
  return entry && (store.cache.decoder.decode(entry) as T);
}

const allOf = <T>({ cache, keyPrefix }: KindStore): T[] =>
  cache.range(keyPrefix).map((entry) => cache.decoder.decode(entry) as T);
