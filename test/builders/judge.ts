import type { Node, Pod } from '../../api/generated/types.ts';
import { everyone } from '../../scheduler/framework/audience.ts';
import type { AnyPlugin, ClusterEventKind } from '../../scheduler/framework/plugin.ts';
import { podInfo } from '../../scheduler/framework/pod-info.ts';
import { type Namespaces, nodeTable } from './node-table.ts';

export interface Judged {
  /** What the filter says of each node by name: the reason, or "passes". */
  readonly filter: Readonly<Record<string, string>>;
  /** What each rejection says besides. */
  readonly also: Readonly<Record<string, readonly string[]>>;
  /** The explanation of each rejection. */
  readonly why: Readonly<Record<string, string>>;
  /** The normalised score of each node by name; empty when the plugin does not score this pod. */
  readonly scores: Readonly<Record<string, number>>;
  readonly codes: Readonly<Record<string, string>>;
  /** What each node's rejection waits for; empty where the pod passes. */
  readonly wakeOn: Readonly<Record<string, readonly ClusterEventKind[]>>;
}

export interface Scene {
  readonly pod: Pod;
  readonly nodes: readonly Node[];
  /** Bound pods. */
  readonly pods?: readonly Pod[];
  readonly namespaces?: Namespaces;
  readonly now?: number;
  /** When the pod entered the queue. */
  readonly waitingSince?: number;
}

/** Lets one plugin judge a pod against nodes, as the runner would. */
export function judge(plugin: AnyPlugin, scene: Scene): Judged {
  const { pod, nodes, pods = [], namespaces, now = Date.UTC(2026, 0, 1), waitingSince } = scene;
  const table = nodeTable(nodes, pods, now, namespaces);
  const prepared = plugin.prepare?.({ pod: podInfo(pod), nodes: table, now, waitingSince }) ?? {
    kind: 'proceed',
    state: undefined,
    filter: true,
    score: true,
  };
  if (prepared.kind === 'reject') throw new Error(`rejected before any node: ${prepared.reason}`);
  const active = prepared.kind === 'proceed' ? prepared : { state: undefined, filter: false, score: false };
  const { state } = active;
  const rows = Int32Array.from(table.names.keys());
  const rejections = [...rows].map((row) => (active.filter ? plugin.filter?.(state, table, row) : undefined));
  if (active.filter && plugin.filterRows) {
    // Both ways of asking must agree.
    const passing = Int32Array.from(rows);
    const left = passing.subarray(0, plugin.filterRows(state, table, passing));
    const wanted = rows.filter((row) => rejections[row] === undefined);
    if (left.join() !== wanted.join()) throw new Error(`filterRows passes rows ${left}, filter passes ${wanted}`);
  }
  const scores = new Float64Array(active.score && plugin.score ? rows.length : 0);
  if (scores.length > 0) {
    plugin.score?.(state, table, rows, scores);
    plugin.normalise?.(scores);
  }
  const byName = <T>(values: Iterable<T>) => Object.fromEntries([...values].map((value, row) => [table.names[row]!, value]));
  return {
    filter: byName(rejections.map((rejection) => rejection?.reason ?? 'passes')),
    also: byName(rejections.map((rejection) => rejection?.also ?? [])),
    codes: byName(rejections.map((rejection) => rejection?.code ?? '')),
    wakeOn: byName(rejections.map((rejection) => rejection?.wakeOn ?? [])),
    why: byName(rejections.map((rejection, row) => (rejection ? (plugin.explain?.(state, table, row, everyone) ?? '') : ''))),
    scores: byName(scores),
  };
}
