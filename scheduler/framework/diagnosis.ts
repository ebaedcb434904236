import type { NodeTable } from '../cache/node-table.ts';
import type { Rejection, Verdicts } from './plugin.ts';

/** A rejection with the plugin it came from. */
export interface Verdict {
  readonly plugin: string;
  readonly rejection: Rejection;
}

/** Why no node was found: filled by the runner, read by the queue (what to wait for), preemption, events and `why`. */
export interface Diagnosis extends Verdicts {
  /** "0/5 nodes are available: 3 insufficient memory, 2 node(s) were not ready." */
  readonly message: string;
  /** Each distinct rejection once, with its plugin: of every filter that rejects a node, not only of the first. */
  readonly verdicts: readonly Verdict[];
  /** Which plugin rejected the node in `row`. */
  pluginOf(row: number): string | undefined;
}

/** The whole pod was turned away before any node was looked at. */
export function diagnosePod(nodes: NodeTable, verdict: Verdict): Diagnosis {
  return {
    message: `0/${nodes.count} nodes are available: ${wordRejection(verdict.rejection)}.`,
    verdicts: [verdict],
    rejectionOf: () => verdict.rejection,
    pluginOf: () => verdict.plugin,
  };
}

/** There is nothing to place a pod on. */
export function diagnoseNoNodes(): Diagnosis {
  const rejection: Rejection = { kind: 'reject', reason: 'there are no nodes', code: 'unresolvable', wakeOn: ['node/added'] };
  return {
    message: 'no nodes are available: there are no nodes; start one with "berth agent".',
    verdicts: [{ plugin: '', rejection }],
    rejectionOf: () => undefined,
    pluginOf: () => undefined,
  };
}

/**
 * Every node was rejected; entry i of `rejections` and `plugins` is the first rejection of row i. The arrays are kept:
 * the caller hands them over. `others`: what further filters said of a node.
 */
export function diagnoseNodes(
  rejections: readonly (Rejection | undefined)[],
  plugins: readonly (string | undefined)[],
  others: ReadonlyMap<Rejection, string> = new Map(),
): Diagnosis {
  const counts = new Map<string, number>();
  const distinct = new Map<Rejection, string>();
  for (const [row, rejection] of rejections.entries()) {
    if (!rejection) continue;
    for (const reason of reasonsOf(rejection)) counts.set(reason, (counts.get(reason) ?? 0) + 1);
    distinct.set(rejection, plugins[row] ?? '');
  }
  return {
    message: `0/${rejections.length} nodes are available: ${wordCounts(counts)}.`,
    verdicts: verdictsOf(new Map([...distinct, ...others])),
    rejectionOf: (row) => rejections[row],
    pluginOf: (row) => plugins[row],
  };
}

export const reasonsOf = ({ reason, also = [] }: Rejection): readonly string[] => [reason, ...also];

/** "insufficient cpu, insufficient memory". */
export const wordRejection = (rejection: Rejection): string => reasonsOf(rejection).join(', ');

export function verdictsOf(rejections: ReadonlyMap<Rejection, string>): Verdict[] {
  return [...rejections].map(([rejection, plugin]) => ({ plugin, rejection }));
}

/** The same with what trials of a post-filter have met. */
export function withTrials(diagnosis: Diagnosis, rejections: ReadonlyMap<Rejection, string>): Diagnosis {
  if (rejections.size === 0) return diagnosis;
  const all = new Map(diagnosis.verdicts.map(({ rejection, plugin }) => [rejection, plugin]));
  return { ...diagnosis, verdicts: verdictsOf(new Map([...all, ...rejections])) };
}

/** Most frequent first, then by text: the same cluster always says the same. */
function wordCounts(counts: ReadonlyMap<string, number>): string {
  return [...counts]
    .sort(([reasonA, a], [reasonB, b]) => b - a || (reasonA < reasonB ? -1 : 1))
    .map(([reason, count]) => `${count} ${reason}`)
    .join(', ');
}
