import { parseQuantity } from '../../api/meta/quantity.ts';
import { textColumns } from './column-descriptions.ts';
import type { IncludeObject } from './object-forms.ts';
import { usageTexts } from './resource-metrics.ts';

interface Usage {
  readonly cpu: string;
  readonly memory: string;
}

interface MetricsItem {
  readonly metadata: object;
  readonly window: string;
  readonly usage?: Usage;
  readonly containers?: readonly { readonly usage: Usage }[];
}

/** NodeMetrics or PodMetrics, one or a list. */
export type MetricsDocument = MetricsItem | { readonly metadata: object; readonly items: readonly MetricsItem[] };

const columns = textColumns('Name', 'CPU', 'Memory', 'Window');
const META = 'meta.k8s.io/v1';

/** What is used as a table, as metrics-server shows it: of a pod, what all its containers use. */
export function metricsTable(document: MetricsDocument, include: IncludeObject): object {
  const [items, metadata] = 'items' in document ? [document.items, document.metadata] : [[document], {}];
  return {
    kind: 'Table',
    apiVersion: META,
    metadata,
    columnDefinitions: columns,
    rows: items.map((item) => rowOf(item, include)),
  };
}

/** Nothing but the metadata. */
export function partialMetrics(document: MetricsDocument): object {
  if (!('items' in document)) return partialOf(document);
  const { metadata, items } = document;
  return { kind: 'PartialObjectMetadataList', apiVersion: META, metadata, items: items.map(partialOf) };
}

const partialOf = ({ metadata }: MetricsItem): object => ({ kind: 'PartialObjectMetadata', apiVersion: META, metadata });

function rowOf(item: MetricsItem, include: IncludeObject): object {
  const { cpu, memory } = item.usage ?? sumOf(item.containers ?? []);
  const { name = '' } = item.metadata as { readonly name?: string };
  const object = include === 'None' ? null : include === 'Object' ? item : partialOf(item);
  return { cells: [name, cpu, memory, item.window], object };
}

function sumOf(containers: readonly { readonly usage: Usage }[]): Usage {
  const sum = (name: keyof Usage): bigint =>
    containers.reduce((total, { usage }) => total + parseQuantity({ string: usage[name] }).nanos, 0n);
  return usageTexts(sum('cpu'), sum('memory') / 1_000_000_000n);
}
