import type { PodTemplate, PodTemplateSpec } from '../../generated/types.ts';
import { formatLabels } from '../../meta/labels.ts';
import { NONE, nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

/** The names of the containers of a template, as kubectl shows them. */
export function containersCell(template: PodTemplateSpec | undefined): string {
  return (template?.spec?.containers ?? []).map(({ name = '' }) => name).join(',') || NONE;
}

export function imagesCell(template: PodTemplateSpec | undefined): string {
  return (template?.spec?.containers ?? []).map(({ image = '' }) => image).join(',') || NONE;
}

const text = (name: string, cell: Column<PodTemplate>['cell']): Column<PodTemplate> => ({
  name,
  type: 'string',
  priority: 0,
  cell,
});

export const podTemplateColumns: readonly Column<PodTemplate>[] = [
  nameColumn,
  text('CONTAINERS', ({ template }) => containersCell(template)),
  text('IMAGES', ({ template }) => imagesCell(template)),
  text('POD LABELS', ({ template }) => formatLabels(template?.metadata?.labels) || NONE),
];
