import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { list, type Tree, text } from '../describe/json.ts';

/** A container of a pod spec, and the list that it stands in. */
export interface Selected {
  readonly list: 'containers' | 'initContainers';
  readonly container: Tree;
}

/**
 * The containers whose names match a pattern, in which * is any characters and ? is one: containers, then init ones.
 */
export function selectContainers(podSpec: Tree, pattern: string): Selected[] {
  const expression = new RegExp(
    `^${pattern
      .replace(/[.+^${}()|[\]\\]/g, '\\$&')
      .replace(/\*/g, '.*')
      .replace(/\?/g, '.')}$`,
  );
  return (['containers', 'initContainers'] as const).flatMap((name) =>
    list(podSpec, name)
      .filter((container) => expression.test(text(container, 'name')))
      .map((container) => ({ list: name, container })),
  );
}

/** A strategic patch of a pod spec that changes these containers. */
export function patchContainers(changes: readonly (readonly [Selected, JsonObject])[]): JsonObject {
  const patch: Record<string, JsonObject[]> = {};
  for (const [{ list: name, container }, change] of changes) {
    patch[name] ??= [];
    patch[name].push({ name: text(container, 'name'), ...change });
  }
  return patch;
}

export function containerNames(podSpec: Tree): string {
  return selectContainers(podSpec, '*')
    .map(({ container }) => text(container, 'name'))
    .join(', ');
}
