import { createLru } from '../../api/meta/lru.ts';
import type { NodeTable } from '../cache/node-table.ts';
import { addScores, createScratch, filterAll, type Participant } from './judge.ts';

/** The total of a node that a filter keeps the pod off. */
export const rejected = Number.NEGATIVE_INFINITY;

/** So many shapes are remembered; the one not asked for longest gives way. 64 columns of 5,000 nodes are 2.5 MB. */
const mostShapes = 64;

interface Standing {
  /** The weighted sums of scores by row, `rejected` where a filter says no. */
  totals: Float64Array;
  /** How many are not rejected. */
  feasible: number;
  /** Of so many rows it speaks. */
  count: number;
  /** Of the table: rows written later are out of date here. */
  version: number;
}

/**
 * Filter and score cache per pod equivalence class: most pods of a cluster come in many copies, and between two of them
 * few rows change. So an attempt evaluates those rows only. A cached result equals a new evaluation.
 */
export interface Standings {
  /** Good until the next call. All participants have a shape. */
  of(participants: readonly Participant[], nodes: NodeTable): Pick<Standing, 'totals' | 'feasible'>;
}

export function createStandings(): Standings {
  let known = createLru<Standing>(mostShapes);
  let table: NodeTable | undefined;
  const scratch = createScratch();

  function recall(key: string, nodes: NodeTable): Standing {
    if (table !== nodes) known = createLru(mostShapes);
    table = nodes;
    const standing = known.get(key) ?? newStanding();
    known.set(key, standing);
    if (standing.totals.length < nodes.count) {
      const grown = new Float64Array(nodes.count * 2).fill(rejected);
      grown.set(standing.totals);
      standing.totals = grown;
    }
    // Nodes have gone.
    for (let row = nodes.count; row < standing.count; row++) reject(standing, row);
    standing.count = nodes.count;
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
      for (let i = 0; i < count; i++) reject(standing, rows[i]!);
      const left = filterAll(participants, nodes, rows.subarray(0, count));
      totals.fill(0, 0, left);
      addScores(participants, nodes, { rows: rows.subarray(0, left), totals, scores });
      for (let i = 0; i < left; i++) {
        const row = rows[i]!;
        // A row may be there twice.
        if (standing.totals[row] === rejected) standing.feasible += 1;
        standing.totals[row] = totals[i]!;
      }
      // Not before: what a plugin's fault leaves half done is asked anew.
      standing.version = nodes.version;
      return standing;
    },
  };
}

function newStanding(): Standing {
  return { totals: new Float64Array(0), feasible: 0, count: 0, version: Number.NEGATIVE_INFINITY };
}

function reject(standing: Standing, row: number): void {
  if (standing.totals[row] === rejected) return;
  standing.totals[row] = rejected;
  standing.feasible -= 1;
}

function keyOf(participants: readonly Participant[]): string {
  let key = '';
  for (const { plugin, filters, scores, shape } of participants)
    key += `${plugin.name}${filters ? '+' : '-'}${scores ? '+' : '-'}${shape}\n`;
  return key;
}
