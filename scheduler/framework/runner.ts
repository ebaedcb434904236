import type { NodeTable } from '../cache/node-table.ts';
import type { Profile } from '../profile.ts';
import { keepBesideNominated, rejectionOn } from './beside-nominated.ts';
import { type Diagnosis, diagnoseNodes, diagnoseNoNodes, diagnosePod, withTrials } from './diagnosis.ts';
import { addScores, createScratch, filterAll, type Participant } from './judge.ts';
import type { Attempt, MakeRoom, Proceed, Rejection } from './plugin.ts';
import { asRejection, guard, PluginFault } from './plugin-fault.ts';
import { createStandings, rejected } from './standings.ts';
import { createTrial } from './trial.ts';

/** The outcome of a scheduling attempt. */
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

/**
 * Remembers what plugins said of the nodes for pods of the same shape (see Standings), and holds scratch memory
 * besides, so that an attempt over thousands of nodes allocates next to nothing. Only plugins that look beyond a node's
 * row are asked about every node again.
 */
export function createRunner({ profile, random }: RunnerOptions): Runner {
  const standings = createStandings();
  const scratch = createScratch();

  /** Leaves the rows that pass everything in `rows` with their sums in `totals`, and says how many they are. */
  function judgeWidely(wide: readonly Participant[], standing: Float64Array, nodes: NodeTable): number {
    const all = nodes.count;
    const { rows, totals, scores } = scratch.fit(all);
    let count = 0;
    for (let row = 0; row < all; row++) if (standing[row] !== rejected) rows[count++] = row;
    const left = keepBesideNominated(wide, nodes, rows.subarray(0, filterAll(wide, nodes, rows.subarray(0, count))));
    for (let i = 0; i < left; i++) totals[i] = standing[rows[i]!]!;
    if (left > 1) addScores(wide, nodes, { rows: rows.subarray(0, left), totals, scores });
    return left;
  }

  return {
    decide(attempt) {
      const { nodes } = attempt;
      if (nodes.count === 0) return { kind: 'unschedulable', diagnosis: diagnoseNoNodes(), room: undefined };
      const prepared = prepareAll(profile, attempt);
      if (!Array.isArray(prepared)) return { kind: 'unschedulable', diagnosis: prepared, room: undefined };
      const nominated = fittingNomination(prepared, attempt);
      if (nominated !== undefined) return { kind: 'placed', nodeName: nominated, participants: prepared, feasible: 1 };
      const { local, wide } = split(prepared);
      const standing = standings.of(local, nodes);
      const isAll = wide.length === 0;
      const { rows, totals } = scratch.fit(nodes.count);
      const count = isAll ? nodes.count : judgeWidely(wide, standing.totals, nodes);
      const index = chooseBest(isAll ? standing.totals : totals, count, random);
      if (index === undefined) return decidedAgainst(profile, attempt, prepared);
      const feasible = isAll ? standing.feasible : count;
      return { kind: 'placed', nodeName: nodes.names[isAll ? index : rows[index]!]!, participants: prepared, feasible };
    },
  };
}

/**
 * Those whose answers hang on the node's row alone, and what looks beyond it:
 * scores that are brought into relation do, too.
 */
function split(participants: readonly Participant[]): { local: Participant[]; wide: Participant[] } {
  const local: Participant[] = [];
  const wide: Participant[] = [];
  for (const participant of participants) {
    const { plugin, filters, scores, shape } = participant;
    if (!filters && !scores) continue;
    if (shape === undefined) wide.push(participant);
    else if (!scores || !plugin.normalise) local.push(participant);
    else {
      if (filters) local.push({ ...participant, scores: false });
      wide.push({ ...participant, filters: false });
    }
  }
  return { local, wide };
}

/** Each plugin's part in the attempt, or why the pod cannot be anywhere. */
export function prepareAll(profile: Profile, attempt: Attempt): Participant[] | Diagnosis {
  const participants: Participant[] = [];
  for (const { plugin, weight } of profile.plugins) {
    const prepared = guard(plugin, 'prepare', () => plugin.prepare?.(attempt) ?? withoutPrepare);
    if (prepared.kind === 'skip') continue;
    if (prepared.kind !== 'proceed')
      return diagnosePod(attempt.nodes, { plugin: plugin.name, rejection: asRejection(plugin, 'prepare', prepared) });
    participants.push({
      plugin,
      weight,
      state: prepared.state,
      filters: prepared.filter && plugin.filter !== undefined,
      scores: prepared.score && weight > 0 && plugin.score !== undefined,
      shape: prepared.shape,
    });
  }
  return participants;
}

const withoutPrepare: Proceed<undefined> = { kind: 'proceed', state: undefined, filter: true, score: true };

/**
 * Asks again, keeping the answers: only attempts that found no node pay for the explanation. All filters are asked
 * about all nodes: the first to reject a node is counted, and the events of every one of them wake the pod.
 */
function explainAll(participants: readonly Participant[], nodes: NodeTable): Diagnosis {
  const rejections: (Rejection | undefined)[] = new Array(nodes.count).fill(undefined);
  const plugins: (string | undefined)[] = new Array(nodes.count).fill(undefined);
  const others = new Map<Rejection, string>();
  for (const participant of participants) {
    const { plugin, filters } = participant;
    if (!filters) continue;
    guard(plugin, 'filter', () => {
      for (let row = 0; row < nodes.count; row++) {
        const answer = rejectionOn(participant, nodes, row);
        if (answer === undefined) continue;
        const rejection = asRejection(plugin, 'filter', answer);
        if (rejections[row] === undefined) {
          rejections[row] = rejection;
          plugins[row] = plugin.name;
        } else others.set(rejection, plugin.name);
      }
    });
  }
  return diagnoseNodes(rejections, plugins, others);
}

/** The index of a highest total, each of them equally likely; undefined when all are rejected. */
function chooseBest(totals: Float64Array, count: number, random: () => number): number | undefined {
  // Above `rejected` and below every sum of scores. One comparison for nearly every node:
  // this is the one loop over all of them.
  let best = -1;
  let [index, ties] = [-1, 0];
  for (let i = 0; i < count; i++) {
    const total = totals[i]!;
    if (total < best) continue;
    if (total > best) {
      best = total;
      index = i;
      ties = 1;
    } else ties += 1;
  }
  let skip = ties > 1 ? Math.floor(random() * ties) : 0;
  while (skip > 0) if (totals[++index] === best) skip -= 1;
  return index < 0 ? undefined : index;
}

/**
 * The node where room was made for the pod, if it fits there now: that it had to wait for others outweighs every score.
 */
function fittingNomination(participants: readonly Participant[], { nodes, nominatedNodeName }: Attempt): string | undefined {
  const row = nominatedNodeName === undefined ? undefined : nodes.rowOf(nominatedNodeName);
  if (row === undefined) return undefined;
  const fits = participants.every(
    (each) => !each.filters || guard(each.plugin, 'filter', () => rejectionOn(each, nodes, row)) === undefined,
  );
  return fits ? nominatedNodeName : undefined;
}

function decidedAgainst(profile: Profile, attempt: Attempt, participants: readonly Participant[]): Decision {
  const diagnosis = explainAll(participants, attempt.nodes);
  const trial = createTrial(
    participants.filter(({ filters }) => filters),
    attempt.nodes,
  );
  try {
    for (const { plugin } of profile.plugins) {
      const room = guard(plugin, 'postFilter', () => plugin.postFilter?.(attempt, diagnosis, trial));
      if (room && (attempt.nodes.rowOf(room.nominatedNodeName) === undefined || !Array.isArray(room.victims)))
        throw new PluginFault(plugin.name, 'postFilter', 'the answer names no node of the cluster, or no victims');
      if (room) return { kind: 'unschedulable', diagnosis: withTrials(diagnosis, trial.rejections), room };
    }
  } finally {
    trial.close();
  }
  return { kind: 'unschedulable', diagnosis: withTrials(diagnosis, trial.rejections), room: undefined };
}
