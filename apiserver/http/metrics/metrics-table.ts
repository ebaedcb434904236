import { parseQuantity } from '../../../api/meta/quantity.ts';
import { textColumns } from '../answers/column-descriptions.ts';
import type { IncludeObject } from '../answers/object-forms.ts';
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

/** What is used as a table, as metrics-server shows it: of a pod, what all its containers use. */
export function metricsTable(apiVersion: string, document: MetricsDocument, include: IncludeObject): object {
  const [items, metadata] = 'items' in document ? [document.items, document.metadata] : [[document], {}];
  return {
    kind: 'Table',
    apiVersion,
    metadata,
    columnDefinitions: columns,
    rows: items.map((item) => rowOf(apiVersion, item, include)),
  };
}

/** Nothing but the metadata. */
export function partialMetrics(apiVersion: string, document: MetricsDocument): object {
  if (!('items' in document)) return partialOf(apiVersion, document);
  const { metadata, items } = document;
  return { kind: 'PartialObjectMetadataList', apiVersion, metadata, items: items.map((item) => partialOf(apiVersion, item)) };
}

const partialOf = (apiVersion: string, { metadata }: MetricsItem): object => ({
  kind: 'PartialObjectMetadata',
  apiVersion,
  metadata,
});

function rowOf(apiVersion: string, item: MetricsItem, include: IncludeObject): object {
  const { cpu, memory } = item.usage ?? sumOf(item.containers ?? []);
  const { name = '' } = item.metadata as { readonly name?: string };
  const object = include === 'None' ? null : include === 'Object' ? item : partialOf(apiVersion, item);
  return { cells: [name, cpu, memory, item.window], object };
}

function sumOf(containers: readonly { readonly usage: Usage }[]): Usage {
  const sum = (name: keyof Usage): bigint =>
    containers.reduce((total, { usage }) => total + parseQuantity({ string: usage[name] }).nanos, 0n);
  return usageTexts(sum('cpu'), sum('memory') / 1_000_000_000n);
}
