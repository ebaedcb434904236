import { isMirror } from '../../api/kinds/pod/static-pods.ts';
import { createLru } from '../../api/meta/lru.ts';
import type { NodeTable } from '../cache/node-table.ts';
import { reasonsOf } from '../framework/diagnosis.ts';
import type { Attempt, Rejection, Trial, Verdicts } from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import type { Budgets } from './budgets.ts';
import { type Candidate, selectVictims } from './victims.ts';

/** What would have to go from each node for the pod of this attempt. */
export interface Candidates {
  /** Undefined where nothing helps. */
  of(row: number): Candidate | undefined;
}

/**
 * Finds candidates, and remembers them by the shape of pods: of many copies of one pod the next asks only about rows
 * that have changed. Where filters look beyond a node's row (the trial has no shape) everything is asked anew. The same
 * is answered either way.
 */
export interface CandidateSearch {
  begin(attempt: Attempt, verdicts: Verdicts, trial: Trial, budgets: Budgets): Candidates;
}

/** So many shapes are remembered; the one not asked for longest gives way. */
const mostShapes = 16;

interface Remembered {
  /** By row: null where nothing helps, undefined where it was not computed. */
  readonly rows: (Candidate | null | undefined)[];
  /** What trials met, by plugin and reason: the pods after the first wait for the same. */
  readonly rejections: Map<string, readonly [Rejection, string]>;
  /** Of the table. */
  version: number;
}

const newMemory = ({ version }: NodeTable): Remembered => ({ rows: [], rejections: new Map(), version });

export function createCandidateSearch(): CandidateSearch {
  let known = createLru<Remembered>(mostShapes);
  let table: NodeTable | undefined;

  function recall(shape: string, nodes: NodeTable): Remembered {
    if (table !== nodes) known = createLru(mostShapes);
    table = nodes;
    const found = known.get(shape) ?? newMemory(nodes);
    const written = nodes.writtenSince(found.version);
    if (written) for (const row of written) found.rows[row] = undefined;
    else found.rows.length = 0;
    found.version = nodes.version;
    known.set(shape, found);
    return found;
  }

  return {
    begin({ pod, nodes }, verdicts, trial, budgets) {
      const shape = trial.shape === undefined ? undefined : `${pod.priority}\n${budgets.key}\n${trial.shape}`;
      const { rows, rejections } = shape === undefined ? newMemory(nodes) : recall(shape, nodes);
      for (const [rejection, plugin] of rejections.values()) trial.rejections.set(rejection, plugin);
      const find = (row: number): Candidate | undefined => {
        if (!isPreemptible(verdicts.rejectionOf(row))) return undefined;
        const lower = lowerPods(nodes.pods[row]!, pod.priority);
        return lower.length > 0 ? selectVictims({ row, lower, budgets }, trial) : undefined;
      };
      return {
        of(row) {
          const remembered = rows[row];
          if (remembered !== undefined) return remembered ?? undefined;
          const found = find(row);
          for (const [rejection, plugin] of trial.rejections)
            rejections.set([plugin, ...reasonsOf(rejection)].join('\n'), [rejection, plugin]);
          rows[row] = found ?? null;
          return found;
        },
      };
    },
  };
}

/** Whether it is worth victims: one that ends by itself is not. */
export function isPreemptible(rejection: Rejection | undefined): boolean {
  return rejection?.code === 'unschedulable' && rejection.atMostMs === undefined;
}

/** The mirror of a static pod is no victim: deleting it stops nothing. */
function lowerPods(pods: ReadonlyMap<string, PodInfo>, priority: number): PodInfo[] {
  const lower: PodInfo[] = [];
  for (const pod of pods.values()) if (pod.priority < priority && !isMirror(pod.pod)) lower.push(pod);
  return lower;
}
