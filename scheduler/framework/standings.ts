import { createLru } from '../../client/lru.ts';
import type { NodeTable } from '../cache/node-table.ts';
import { addScores, createScratch, filterAll, type Participant } from './judge.ts';

/** The total of a node that a filter keeps the pod off. */
export const rejected = Number.NEGATIVE_INFINITY;

/** So many shapes are remembered; the one not asked for longest gives way. 64 columns of 5,000 nodes are 2.5 MB. */
const mostShapes = 64;

interface Standing {
  totals: Float64Array;
  /** Of the table: rows written later are out of date here. */
  version: number;
}

/**
 * What plugins said of every node, remembered by the pod's shape: most pods of a cluster come in many copies, and between two of them few rows
 * change. So an attempt asks about those rows only. What is remembered is exactly what asking again would give.
 */
export interface Standings {
  /** The weighted sums of scores by row, `rejected` where a filter says no; good until the next call. All participants have a shape. */
  of(participants: readonly Participant[], nodes: NodeTable): Float64Array;
}

export function createStandings(): Standings {
  let known = createLru<Standing>(mostShapes);
  let table: NodeTable | undefined;
  const scratch = createScratch();

  function recall(key: string, nodes: NodeTable): Standing {
    if (table !== nodes) known = createLru(mostShapes);
    table = nodes;
    const standing = known.get(key) ?? { totals: new Float64Array(0), version: Number.NEGATIVE_INFINITY };
    known.set(key, standing);
    if (standing.totals.length < nodes.count) {
      const grown = new Float64Array(nodes.count * 2);
      grown.set(standing.totals);
      standing.totals = grown;
    }
    return standing;
  }

  /** Puts the rows to ask about into `rows`, and says how many they are. */
  function outdated({ version }: Standing, nodes: NodeTable, rows: Int32Array): number {
    const written = nodes.writtenSince(version);
    if (written === undefined || written.length >= nodes.count) {
      for (let row = 0; row < nodes.count; row++) rows[row] = row;
      return nodes.count;
    }
    for (let i = 0; i < written.length; i++) rows[i] = written[i]!;
    return written.length;
  }

  return {
    of(participants, nodes) {
      const { rows, totals, scores } = scratch.fit(nodes.count);
      const standing = recall(keyOf(participants), nodes);
      const count = outdated(standing, nodes, rows);
      for (let i = 0; i < count; i++) standing.totals[rows[i]!] = rejected;
      const left = filterAll(participants, nodes, rows.subarray(0, count));
      totals.fill(0, 0, left);
      addScores(participants, nodes, { rows: rows.subarray(0, left), totals, scores });
      for (let i = 0; i < left; i++) standing.totals[rows[i]!] = totals[i]!;
      // Not before: what a plugin's fault leaves half done is asked anew.
      standing.version = nodes.version;
      return standing.totals;
    },
  };
}

function keyOf(participants: readonly Participant[]): string {
  let key = '';
  for (const { plugin, filters, scores, shape } of participants)
    key += `${plugin.name}${filters ? '+' : '-'}${scores ? '+' : '-'}${shape}\n`;
  return key;
}
