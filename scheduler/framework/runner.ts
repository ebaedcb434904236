import type { NodeTable } from '../cache/node-table.ts';
import type { Profile } from '../profile.ts';
import { type Diagnosis, diagnoseNodes, diagnoseNoNodes, diagnosePod } from './diagnosis.ts';
import { type AnyPlugin, type Attempt, type MakeRoom, maxScore, type Proceed, type Rejection } from './plugin.ts';
import { PluginFault } from './plugin-fault.ts';

/** A plugin's part in one attempt: `proceed` is absent for a plugin that has no `prepare`. */
export interface Participant {
  readonly plugin: AnyPlugin;
  readonly weight: number;
  readonly state: unknown;
  readonly filters: boolean;
  readonly scores: boolean;
}

/** What an attempt comes to. */
export type Decision =
  | {
      readonly kind: 'placed';
      readonly nodeName: string;
      readonly participants: readonly Participant[];
      readonly feasible: number;
    }
  | { readonly kind: 'unschedulable'; readonly diagnosis: Diagnosis; readonly room: MakeRoom | undefined };

/** Makes attempts, one after the other. Throws PluginFault and nothing else. */
export interface Runner {
  decide(attempt: Attempt): Decision;
}

export interface RunnerOptions {
  readonly profile: Profile;
  /** From 0 (included) to 1 (excluded): chooses among the best nodes. The same numbers give the same placements. */
  readonly random: () => number;
}

/** Holds only scratch memory, so that an attempt over thousands of nodes allocates next to nothing. */
export function createRunner({ profile, random }: RunnerOptions): Runner {
  let rows = new Int32Array(0);
  let totals = new Float64Array(0);
  let scores = new Float64Array(0);

  function ensureScratch(count: number): void {
    if (rows.length >= count) return;
    rows = new Int32Array(count * 2);
    totals = new Float64Array(count * 2);
    scores = new Float64Array(count * 2);
  }

  return {
    decide(attempt) {
      const { nodes } = attempt;
      if (nodes.count === 0) return { kind: 'unschedulable', diagnosis: diagnoseNoNodes(), room: undefined };
      ensureScratch(nodes.count);
      const prepared = prepareAll(profile, attempt);
      if (!Array.isArray(prepared)) return decidedAgainst(profile, attempt, prepared);
      const feasible = filterAll(prepared, nodes, rows);
      if (feasible === 0) return decidedAgainst(profile, attempt, explainAll(prepared, nodes));
      if (feasible > 1) scoreAll(prepared, nodes, { rows: rows.subarray(0, feasible), totals, scores });
      const row = feasible === 1 ? rows[0]! : rows[chooseBest(totals, feasible, random)]!;
      return { kind: 'placed', nodeName: nodes.names[row]!, participants: prepared, feasible };
    },
  };
}

function prepareAll(profile: Profile, attempt: Attempt): Participant[] | Diagnosis {
  const participants: Participant[] = [];
  for (const { plugin, weight } of profile.plugins) {
    const prepared = guard(plugin, 'prepare', () => plugin.prepare?.(attempt) ?? withoutPrepare);
    if (prepared.kind === 'reject') return diagnosePod(attempt.nodes, { plugin: plugin.name, rejection: prepared });
    if (prepared.kind === 'skip') continue;
    participants.push({
      plugin,
      weight,
      state: prepared.state,
      filters: prepared.filter && plugin.filter !== undefined,
      scores: prepared.score && weight > 0 && plugin.score !== undefined,
    });
  }
  return participants;
}

const withoutPrepare: Proceed<undefined> = { kind: 'proceed', state: undefined, filter: true, score: true };

/** Plugin by plugin over the rows that are left, so that each plugin walks its columns in one go. Leaves the survivors in `rows`. */
function filterAll(participants: readonly Participant[], nodes: NodeTable, rows: Int32Array): number {
  let left = nodes.count;
  for (let row = 0; row < left; row++) rows[row] = row;
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
    if (filter.call(plugin, state, nodes, row) === undefined) rows[kept++] = row;
  }
  return kept;
}

/** Asks again, keeping the answers: only attempts that found no node pay for the explanation. */
function explainAll(participants: readonly Participant[], nodes: NodeTable): Diagnosis {
  const rejections: (Rejection | undefined)[] = new Array(nodes.count).fill(undefined);
  const plugins: (string | undefined)[] = new Array(nodes.count).fill(undefined);
  for (const { plugin, state, filters } of participants) {
    if (!filters) continue;
    guard(plugin, 'filter', () => {
      for (let row = 0; row < nodes.count; row++) {
        if (rejections[row] !== undefined) continue;
        rejections[row] = plugin.filter!(state, nodes, row);
        if (rejections[row] !== undefined) plugins[row] = plugin.name;
      }
    });
  }
  return diagnoseNodes(rejections, plugins);
}

interface ScoreScratch {
  readonly rows: Int32Array;
  readonly totals: Float64Array;
  readonly scores: Float64Array;
}

function scoreAll(participants: readonly Participant[], nodes: NodeTable, { rows, totals, scores }: ScoreScratch): void {
  totals.fill(0, 0, rows.length);
  const own = scores.subarray(0, rows.length);
  for (const participant of participants) {
    if (!participant.scores) continue;
    const { plugin, state, weight } = participant;
    own.fill(Number.NaN);
    guard(plugin, 'score', () => plugin.score!(state, nodes, rows, own));
    guard(plugin, 'normalise', () => plugin.normalise?.(own));
    for (let i = 0; i < own.length; i++) {
      const score = own[i]!;
      if (!(score >= 0 && score <= maxScore)) throw nonsense(plugin, nodes.names[rows[i]!]!, score);
      totals[i]! += score * weight;
    }
  }
}

function nonsense(plugin: AnyPlugin, nodeName: string, score: number): PluginFault {
  return new PluginFault(plugin.name, 'score', `node "${nodeName}" got ${score}, which is not from 0 to ${maxScore}`);
}

/** The index of a highest total, each of them equally likely. */
function chooseBest(totals: Float64Array, count: number, random: () => number): number {
  let best = Number.NEGATIVE_INFINITY;
  let ties = 0;
  for (let i = 0; i < count; i++) {
    const total = totals[i]!;
    if (total > best) {
      best = total;
      ties = 1;
    } else if (total === best) ties += 1;
  }
  let skip = ties === 1 ? 0 : Math.floor(random() * ties);
  for (let i = 0; i < count; i++) if (totals[i] === best && skip-- === 0) return i;
  return 0;
}

function decidedAgainst(profile: Profile, attempt: Attempt, diagnosis: Diagnosis): Decision {
  for (const { plugin } of profile.plugins) {
    const room = guard(plugin, 'postFilter', () => plugin.postFilter?.(attempt, diagnosis));
    if (room) return { kind: 'unschedulable', diagnosis, room };
  }
  return { kind: 'unschedulable', diagnosis, room: undefined };
}

function guard<R>(plugin: AnyPlugin, point: string, call: () => R): R {
  try {
    return call();
  } catch (error) {
    if (error instanceof PluginFault) throw error;
    throw new PluginFault(plugin.name, point, error);
  }
}
