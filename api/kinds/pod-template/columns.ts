import type { PodTemplate, PodTemplateSpec } from '../../generated/types.ts';
import { formatLabels } from '../../meta/labels.ts';
import { NONE, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

/** The names of the containers of a template, as kubectl shows them. */
export function containersCell(template: PodTemplateSpec | undefined): string {
  return (template?.spec?.containers ?? []).map(({ name = '' }) => name).join(',') || NONE;
}

export function imagesCell(template: PodTemplateSpec | undefined): string {
  return (template?.spec?.containers ?? []).map(({ image = '' }) => image).join(',') || NONE;
}

export const podTemplateColumns: readonly Column<PodTemplate>[] = [
  nameColumn,
  textColumn('CONTAINERS', ({ template }) => containersCell(template)),
  textColumn('IMAGES', ({ template }) => imagesCell(template)),
  textColumn('POD LABELS', ({ template }) => formatLabels(template?.metadata?.labels) || NONE),
];
