import type { Node, Pod } from '../../api/generated/types.ts';
import { createCache } from '../../scheduler/cache/cache.ts';
import { createNodeTable, type NodeTable } from '../../scheduler/cache/node-table.ts';

/** Labels of namespaces by name. */
export type Namespaces = Readonly<Record<string, Record<string, string>>>;

/** The scheduler's view of these nodes and bound pods. */
export function nodeTable(
  nodes: readonly Node[],
  pods: readonly Pod[] = [],
  now = Date.UTC(2026, 0, 1),
  namespaces: Namespaces = {},
): NodeTable {
  const cache = createCache({ now: () => now });
  for (const [name, labels] of Object.entries(namespaces)) cache.setNamespace({ metadata: { name, labels } });
  for (const node of nodes) cache.setNode(node);
  for (const pod of pods) cache.setPod(pod);
  const table = createNodeTable();
  cache.sync(table);
  return table;
}
