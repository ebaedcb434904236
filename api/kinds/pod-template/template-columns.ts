import type { LabelSelector, PodTemplateSpec } from '../../generated/types.ts';
import { formatLabelSelector } from '../../meta/labels.ts';
import { NONE } from '../cells.ts';
import type { ApiObject, Column } from '../kind.ts';

/** What `-o wide` adds for what makes pods: their containers, images, and how they are found. */
export function templateColumns<T extends ApiObject>(
  templateOf: (object: T) => PodTemplateSpec | undefined,
  selectorOf: (object: T) => LabelSelector | undefined,
): Column<T>[] {
  const containers = (object: T) => templateOf(object)?.spec?.containers ?? [];
  const column = (name: string, cell: Column<T>['cell']): Column<T> => ({ name, type: 'string', priority: 1, cell });
  const names = (object: T): string =>
    containers(object)
      .flatMap(({ name }) => name ?? [])
      .join(',');
  const images = (object: T): string =>
    containers(object)
      .flatMap(({ image }) => image ?? [])
      .join(',');
  return [
    column('CONTAINERS', names),
    column('IMAGES', images),
    column('SELECTOR', (object) => formatLabelSelector(selectorOf(object)) || NONE),
  ];
}
