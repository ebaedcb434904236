import type { LabelSelector, ObjectMeta, PodTemplateSpec } from '../generated/types.ts';
import { formatLabelSelector } from '../meta/labels.ts';
import { ageColumn, NONE, nameColumn } from './cells.ts';
import type { Column } from './kind.ts';
import { containersCell, imagesCell } from './pod-template/columns.ts';

interface Workload {
  metadata?: ObjectMeta;
  spec?: { readonly template?: PodTemplateSpec };
}

export function textColumn<T>(name: string, priority: 0 | 1, cell: Column<T>['cell']): Column<T> {
  return { name, type: 'string', priority, cell };
}

export function countColumn<T>(name: string, count: (object: T) => number | undefined): Column<T> {
  return { name, type: 'integer', priority: 0, cell: (object) => String(count(object) ?? 0) };
}

/** The columns of kubectl for a kind that keeps pods running: the name, what is its own, the age, and the template. */
export function workloadColumns<T extends Workload>(
  own: readonly Column<T>[],
  wide: readonly Column<T>[] = [],
): readonly Column<T>[] {
  return [
    nameColumn,
    ...own,
    ageColumn,
    textColumn<T>('CONTAINERS', 1, ({ spec }) => containersCell(spec?.template)),
    textColumn<T>('IMAGES', 1, ({ spec }) => imagesCell(spec?.template)),
    ...wide,
  ];
}

export function selectorColumn<T extends { spec?: { readonly selector?: LabelSelector } }>(): Column<T> {
  return textColumn<T>('SELECTOR', 1, ({ spec }) => formatLabelSelector(spec?.selector) || NONE);
}
