import type { Node, NodeCondition, Pod, PodCondition, Taint } from '../../api/generated/types.ts';
import { findCondition, isConditionTrue, setCondition, setConditions } from '../../api/meta/conditions.ts';
import { secondsTimestamp, toRfc3339 } from '../../api/meta/time.ts';
import { taintEffects, taints } from '../../api/meta/well-known.ts';

/** What is known of a node when it is looked at. */
export interface NodeView {
  readonly node: Node;
  /** Nothing was heard of its agent for the whole grace period. */
  readonly silent: boolean;
  /** When it was last heard, in milliseconds since 1970. */
  readonly heardAt: number;
  /**
   * Whether its pods are to be driven away while it is lost; `keep`: those of our taints that do so stay as they are.
   */
  readonly giveUp: 'yes' | 'no' | 'keep';
  readonly now: number;
}

export type NodeAction =
  /** These conditions, and no others, get another status. */
  | { readonly type: 'set-conditions'; readonly conditions: readonly NodeCondition[] }
  /** The whole list. */
  | { readonly type: 'set-taints'; readonly taints: readonly Taint[] };

/**
 * The conditions that the agent maintains, which are stale when it is silent. NetworkUnavailable is not its business.
 */
const agentConditions = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'] as const;

/** Which taint stands for which condition, as in Kubernetes. Ready comes first: it is the reason that people read. */
const taintRules: readonly { readonly key: string; readonly applies: (node: Node) => boolean }[] = [
  { key: taints.notReady, applies: (node) => readyOf(node) === 'False' },
  { key: taints.unreachable, applies: (node) => readyOf(node) === 'Unknown' },
  { key: taints.memoryPressure, applies: (node) => isConditionTrue(node.status?.conditions, 'MemoryPressure') },
  { key: taints.diskPressure, applies: (node) => isConditionTrue(node.status?.conditions, 'DiskPressure') },
  { key: taints.pidPressure, applies: (node) => isConditionTrue(node.status?.conditions, 'PIDPressure') },
  { key: taints.networkUnavailable, applies: (node) => isConditionTrue(node.status?.conditions, 'NetworkUnavailable') },
  { key: taints.unschedulable, applies: (node) => node.spec?.unschedulable === true },
];

/** Those that also drive pods away, when the node is given up. */
const lostKeys: readonly string[] = [taints.notReady, taints.unreachable];

/**
 * How a node is after what its agent said, and what its silence says. `in-doubt`: nothing is known,
 * but not for the whole grace period.
 */
export function lossOf(node: Node, silent: boolean): 'none' | 'lost' | 'in-doubt' {
  const ready = readyOf(node);
  if (ready === 'False' || silent) return 'lost';
  return ready === 'Unknown' ? 'in-doubt' : 'none';
}

/** Whether one of our taints drives pods away from the node. */
export function isGivenUp({ spec }: Node): boolean {
  return spec?.taints?.some(drivesAway) === true;
}

function drivesAway({ key, effect }: Taint): boolean {
  return effect === taintEffects.noExecute && lostKeys.includes(key ?? '');
}

/**
 * What is to be written to a node: stale conditions become Unknown, and the NoSchedule taints follow the
 * conditions; the NoExecute taints too, where the node is given up. Never the way back: that a node is ready only its
 * agent says. Empty when all is as it should be.
 */
export function decideNode(view: NodeView): NodeAction[] {
  const conditions = view.silent ? unknownConditions(view) : [];
  const actions: NodeAction[] = conditions.length > 0 ? [{ type: 'set-conditions', conditions }] : [];
  const now = secondsTimestamp(new Date(view.now));
  const next: Node = {
    ...view.node,
    status: { ...view.node.status, conditions: setConditions(view.node.status?.conditions, conditions, now) },
  };
  const list = changedTaints(next, view);
  if (list !== undefined) actions.push({ type: 'set-taints', taints: list });
  return actions;
}

function unknownConditions({ node, heardAt, now }: NodeView): NodeCondition[] {
  const present = node.status?.conditions ?? [];
  const since = toRfc3339(secondsTimestamp(new Date(heardAt)));
  const lost = {
    reason: 'NodeStatusUnknown',
    message: `the agent has not reported since ${since}: see whether the machine is up and reaches the API server, then the agent's log there`,
  };
  const never = {
    reason: 'NodeStatusNeverUpdated',
    message: 'no agent has ever reported for this node: start one with this --node-name, or delete the node',
  };
  return agentConditions.flatMap((type) => {
    const known = findCondition(present, type);
    if (known?.status === 'Unknown') return [];
    const next: NodeCondition = { ...known, type, status: 'Unknown', ...(known ? lost : never) };
    return setCondition(known ? [known] : [], next, secondsTimestamp(new Date(now)));
  });
}

/** The taints that the node should have, those of others as they are; undefined when it has them. */
function changedTaints(node: Node, { giveUp, now }: NodeView): Taint[] | undefined {
  const present = node.spec?.taints ?? [];
  const wanted = wantedTaints(node, giveUp === 'yes' || (giveUp === 'keep' && isGivenUp(node)));
  const isOurs = (taint: Taint) =>
    drivesAway(taint) || (taint.effect === taintEffects.noSchedule && taintRules.some(({ key }) => key === taint.key));
  const isIn = (list: readonly Taint[], { key, effect }: Taint) =>
    list.some((other) => other.key === key && other.effect === effect);
  const kept = present.filter((taint) => !isOurs(taint) || isIn(wanted, taint));
  const missing = wanted.filter((taint) => !isIn(present, taint));
  if (kept.length === present.length && missing.length === 0) return undefined;
  const timeAdded = secondsTimestamp(new Date(now));
  return [...kept, ...missing.map((taint) => ({ ...taint, timeAdded }))];
}

function wantedTaints(node: Node, givenUp: boolean): Taint[] {
  return taintRules
    .filter(({ applies }) => applies(node))
    .flatMap(({ key }) => [
      { key, effect: taintEffects.noSchedule },
      ...(givenUp && lostKeys.includes(key) ? [{ key, effect: taintEffects.noExecute }] : []),
    ]);
}

/** The Ready condition that a pod on a silent node gets; undefined when it does not count as ready anyway. */
export function decidePod(pod: Pod, node: Node, now: number): PodCondition | undefined {
  const ready = findCondition(pod.status?.conditions, 'Ready');
  if (ready?.status !== 'True') return undefined;
  const message = `node "${node.metadata?.name}" does not report: what its containers do is not known`;
  const next: PodCondition = { type: 'Ready', status: 'False', reason: 'NodeNotReady', message };
  return setCondition([ready], next, secondsTimestamp(new Date(now)))[0];
}

/** An event of a node: Kubernetes' reasons. */
export interface NodeTransition {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** The reasons for a condition that is bad when it is true: of its beginning and of its end. */
const pressureReasons: Readonly<Record<string, readonly [string, string]>> = {
  MemoryPressure: ['NodeHasInsufficientMemory', 'NodeHasSufficientMemory'],
  DiskPressure: ['NodeHasDiskPressure', 'NodeHasNoDiskPressure'],
  PIDPressure: ['NodeHasInsufficientPID', 'NodeHasSufficientPID'],
};

/**
 * What is worth telling of a change: that a node became ready or stopped being so, came under pressure or out of it,
 * was cordoned or uncordoned. Its first status is no change.
 */
export function decideTransitions(next: Node, old: Node): NodeTransition[] {
  return [...readyTransition(next, old), ...pressureTransitions(next, old), ...cordonTransition(next, old)];
}

function readyTransition(next: Node, old: Node): NodeTransition[] {
  const before = readyOf(old);
  const after = readyOf(next);
  if (before === undefined || after === undefined || (before === 'True') === (after === 'True')) return [];
  const name = next.metadata?.name;
  if (after === 'True') return [{ type: 'Normal', reason: 'NodeReady', message: `node "${name}" is ready again` }];
  const why = findCondition(next.status?.conditions, 'Ready')?.message;
  return [{ type: 'Warning', reason: 'NodeNotReady', message: `node "${name}" is not ready: ${why || 'it does not say why'}` }];
}

/** A node that is silent says nothing of its pressure. */
function pressureTransitions(next: Node, old: Node): NodeTransition[] {
  return Object.entries(pressureReasons).flatMap(([type, [begun, ended]]) => {
    const [before, after] = [old, next].map((node) => findCondition(node.status?.conditions, type));
    if (!before || !after || before.status === after.status) return [];
    const isBad = after.status === 'True';
    if (!isBad && (after.status !== 'False' || before.status !== 'True')) return [];
    const message = `node "${next.metadata?.name}": ${after.message || type}`;
    return [{ type: isBad ? 'Warning' : 'Normal', reason: isBad ? begun : ended, message } as const];
  });
}

function cordonTransition(next: Node, old: Node): NodeTransition[] {
  const isCordoned = next.spec?.unschedulable === true;
  if (isCordoned === (old.spec?.unschedulable === true)) return [];
  const message = `node "${next.metadata?.name}" ${isCordoned ? 'takes no new pods' : 'takes new pods again'}`;
  return [{ type: 'Normal', reason: isCordoned ? 'NodeNotSchedulable' : 'NodeSchedulable', message }];
}

function readyOf(node: Node): string | undefined {
  return findCondition(node.status?.conditions, 'Ready')?.status;
}
