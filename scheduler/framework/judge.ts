import type { NodeTable } from '../cache/node-table.ts';
import { type AnyPlugin, maxScore } from './plugin.ts';
import { asRejection, guard, PluginFault } from './plugin-fault.ts';

/** A plugin's part in one attempt: what it prepared, and what of it is asked. */
export interface Participant {
  readonly plugin: AnyPlugin;
  readonly weight: number;
  readonly state: unknown;
  readonly filters: boolean;
  readonly scores: boolean;
  /** See Proceed. */
  readonly shape?: string | undefined;
}

/**
 * Plugin by plugin over the rows that are left, so that each plugin walks its columns in one go.
 * Leaves the survivors in front.
 */
export function filterAll(participants: readonly Participant[], nodes: NodeTable, rows: Int32Array): number {
  let left = rows.length;
  for (const { plugin, state, filters } of participants) {
    if (!filters || left === 0) continue;
    left = guard(plugin, 'filter', () => filterRows(plugin, state, nodes, rows.subarray(0, left)));
  }
  return left;
}

function filterRows(plugin: AnyPlugin, state: unknown, nodes: NodeTable, rows: Int32Array): number {
  if (plugin.filterRows) {
    const left = plugin.filterRows(state, nodes, rows);
    if (Number.isInteger(left) && left >= 0 && left <= rows.length) return left;
    throw new PluginFault(plugin.name, 'filter', `${left} of ${rows.length} nodes passed`);
  }
  // Taken out of the loop: looking it up for every node costs as much as a cheap filter does.
  const filter = plugin.filter!;
  let kept = 0;
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!;
    const answer = filter.call(plugin, state, nodes, row);
    if (answer === undefined) rows[kept++] = row;
    else if (answer?.kind !== 'reject') asRejection(plugin, 'filter', answer);
  }
  return kept;
}

/** Memory for one judgement of many rows, used again by the next. */
export interface Scratch {
  readonly rows: Int32Array;
  readonly totals: Float64Array;
  readonly scores: Float64Array;
}

/** Grows with the cluster: `fit` answers memory for at least so many rows, and what was in it may be gone. */
export function createScratch(): { fit(count: number): Scratch } {
  const make = (count: number): Scratch => ({
    rows: new Int32Array(count),
    totals: new Float64Array(count),
    scores: new Float64Array(count),
  });
  let scratch = make(0);
  return {
    fit(count) {
      if (scratch.rows.length < count) scratch = make(count * 2);
      return scratch;
    },
  };
}

/** The weighted scores are added to what is in `totals`. */
export function addScores(participants: readonly Participant[], nodes: NodeTable, { rows, totals, scores }: Scratch): void {
  const own = scores.subarray(0, rows.length);
  for (const participant of participants) {
    if (!participant.scores) continue;
    scoreOne(participant, nodes, rows, own);
    for (let i = 0; i < own.length; i++) totals[i]! += own[i]! * participant.weight;
  }
}

/** Writes what one plugin says of the rows, checked, from 0 to 100. */
export function scoreOne({ plugin, state }: Participant, nodes: NodeTable, rows: Int32Array, own: Float64Array): void {
  own.fill(Number.NaN);
  guard(plugin, 'score', () => plugin.score!(state, nodes, rows, own));
  guard(plugin, 'normalise', () => plugin.normalise?.(own));
  for (let i = 0; i < own.length; i++) {
    const score = own[i]!;
    if (!(score >= 0 && score <= maxScore)) throw nonsense(plugin, nodes.names[rows[i]!]!, score);
  }
}

function nonsense(plugin: AnyPlugin, nodeName: string, score: number): PluginFault {
  return new PluginFault(plugin.name, 'score', `node "${nodeName}" got ${score}, which is not from 0 to ${maxScore}`);
}
