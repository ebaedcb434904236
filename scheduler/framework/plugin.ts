import type { Node } from '../../api/generated/types.ts';
import type { NodeTable } from '../cache/node-table.ts';
import type { Audience } from './audience.ts';
import type { PodInfo } from './pod-info.ts';

/**
 * # How Berth places a pod
 *
 * The scheduler takes one pod at a time from its queue and makes one *attempt*:
 *
 *     queue order -> prepare -> filter -> score -> normalise -> reserve -> permit -> pre-bind -> bind
 *                                  |
 *                                  +-> post-filter, when no node is left
 *
 * Everything up to reserve runs synchronously on one thread over one unchanging `NodeTable`, so plugins need no locks
 * and must not wait. Permit, pre-bind and bind are asynchronous and run for many pods at once while the next pods are
 * being decided.
 *
 * A plugin is a stateless value: one object that may have any of the methods below. What it wants to know for the
 * length of an attempt it computes once in `prepare`, whose state is handed to its other methods; what it wants to know
 * for longer is in the table. Which plugins run, in which order and with which weights is the profile (../profile.ts).
 * Filters run in profile order, and a node is judged only until its first rejection: put the cheap and the telling
 * first.
 *
 * A plugin that throws, takes too long or answers nonsense (a score that is no number from 0 to 100) fails that
 * attempt. The plugin's name stands in the pod's event, the pod is tried again after a back-off, and the scheduler goes
 * on.
 */
export type Plugin<S = undefined> = PluginIdentity &
  (undefined extends S ? Partial<Preparing<S>> : Preparing<S>) &
  Partial<QueueOrdering & Filtering<S> & PostFiltering & Scoring<S> & Reserving<S> & Permitting & PreBinding & Binding>;

/** A plugin with a state of any type, as profiles and the runner hold it. */
export type AnyPlugin = Plugin<unknown>;

export interface PluginIdentity {
  /** Unique within a profile, e.g. "NodeResourcesFit". Appears in events, logs and `why`. */
  readonly name: string;
  /** How long one call may take, in milliseconds; without it there is no limit. Set for users' plugins. */
  readonly callLimitMs?: number;
}

/** One try to place one pod. */
export interface Attempt {
  readonly pod: PodInfo;
  /**
   * All nodes as they are in this attempt. Rows are only valid within it:
   * a later attempt may number the nodes differently.
   */
  readonly nodes: NodeTable;
  /** The scheduler's clock, in milliseconds. */
  readonly now: number;
  /** When the pod entered the queue, on the same clock; undefined for a pod that is not in it, as in a simulation. */
  readonly waitingSince?: number | undefined;
  /** Where room was made for the pod by an earlier attempt; looked at first. */
  readonly nominatedNodeName?: string | undefined;
}

export interface QueueOrdering {
  /** Negative when `a` must be tried before `b`. A total order; exactly one plugin of a profile has it. */
  queueOrder(a: QueueItem, b: QueueItem): number;
}

/** A pod that waits to be tried. */
export interface QueueItem {
  readonly pod: PodInfo;
  /** When it entered the queue for the first time, in milliseconds of the scheduler's clock. */
  readonly queuedAt: number;
  /** Grows with every item, so that equal times keep their order. */
  readonly sequence: number;
}

export interface Preparing<S> {
  /**
   * Called once per attempt, before any node is looked at. Does all work that does not depend on the node (parsing
   * selectors, summing requests), so that filter and score do as little as possible per node.
   */
  prepare(attempt: Attempt): Prepared<S>;
}

export type Prepared<S> = Proceed<S> | Skip | Rejection;

export interface Proceed<S> {
  readonly kind: 'proceed';
  readonly state: S;
  /** False when every node would pass: the filter is not called in this attempt. */
  readonly filter: boolean;
  /** False when every node would score the same: the score is not called in this attempt. */
  readonly score: boolean;
  /**
   * Everything of this attempt that filter and score look at besides the node's own row, as text: pods of equal shape
   * get the same answers for a row until it is written again. So the runner asks only about rows that changed since the
   * last pod of this shape. Leave it out when a node's answer depends on other nodes, on claims, or on anything else
   * that is not in its row (that is the usual case for scores of spreading).
   */
  readonly shape?: string | undefined;
}

/**
 * The plugin has nothing to say about this pod: none of its node-by-node methods is called in this attempt,
 * nor `preBind`.
 */
export interface Skip {
  readonly kind: 'skip';
}

export const skip: Skip = { kind: 'skip' };

/** The usual answer of `prepare`; `parts` switches off what this pod does not need. */
export function proceed<S>(
  state: S,
  parts: { readonly filter?: boolean; readonly score?: boolean; readonly shape?: string } = {},
): Proceed<S> {
  return { kind: 'proceed', state, filter: parts.filter ?? true, score: parts.score ?? true, shape: parts.shape };
}

export interface Filtering<S> {
  /**
   * May the pod run on the node in `row`? Called for each node that all earlier filters let through; and, when no node
   * passed, for all of them, so that the pod is woken by the events of every filter that rejects it. Undefined lets it
   * through. Hot: it should allocate nothing, so make rejections ahead (as constants or in `prepare`) and leave figures
   * to `explain`.
   */
  filter(state: S, nodes: NodeTable, row: number): Rejection | undefined;
  /**
   * The same judgement of many nodes at once, for filters that judge nearly every pod: moves the rows that pass to the
   * front of `rows`, in their order, and answers how many those are. Saves a call for each node: a fifth of a decision
   * about 5,000 nodes. Needs `filter` beside it.
   */
  filterRows?(state: S, nodes: NodeTable, rows: Int32Array): number;
  /**
   * The same judgement in figures for a person, e.g. "needs 2 CPU, 1.4 free". Only called for a node that `filter`
   * rejected, when a user asks. Names no pods that the audience does not see (`wordPods`, `wordFirstPod`); an audience
   * that sees no nodes is told the reason instead.
   */
  explain?(state: S, nodes: NodeTable, row: number, audience: Audience): string;
  /**
   * A pod is taken off the node (-1) or put back (1), for the length of a trial (see Trial), in which only that node is
   * judged; or one that is nominated to the node (`NodeTable.nominated`) is put there for one question to `filter`.
   * What `prepare` derived from the pods of nodes follows. Needed only by a plugin whose state holds such things; the
   * node's row has been changed already. Every change is undone before another node is judged.
   */
  withPod?(state: S, change: TrialChange): void;
  /**
   * Could `event` let this pod pass this filter? Asked for events named by `wakeOn` of a rejection. Absent means yes.
   * Must not be optimistic about much (each yes costs an attempt) and never pessimistic (a wrong no leaves the pod
   * waiting).
   */
  helps?(pod: PodInfo, event: ClusterEvent): boolean;
}

/** Why a pod cannot run on a node. */
export interface Rejection {
  readonly kind: 'reject';
  /**
   * Completes "3 nodes ...": lower case, no figures that differ per node, e.g. "insufficient memory".
   * Equal texts are counted together.
   */
  readonly reason: string;
  /** What the node lacks besides, in the same words; each is counted as a reason of its own. */
  readonly also?: readonly string[];
  /** `unresolvable` when taking other pods off the node cannot help: preemption does not look at it. */
  readonly code: 'unschedulable' | 'unresolvable';
  /** Which events could make it untrue. A pod waits until one of those named by its rejections happens. */
  readonly wakeOn: readonly ClusterEventKind[];
  /**
   * The plugin rejects no pod for this that has been in the queue for so long: the pod is tried again then, whatever
   * happens before. Preemption evicts nothing from a node whose first rejection ends in this way.
   */
  readonly atMostMs?: number;
}

/** Taking pods away could help. */
export function unschedulable(reason: string, wakeOn: readonly ClusterEventKind[]): Rejection {
  return { kind: 'reject', reason, code: 'unschedulable', wakeOn };
}

/** A rejection that evicting pods cannot resolve. */
export function unresolvable(reason: string, wakeOn: readonly ClusterEventKind[]): Rejection {
  return { kind: 'reject', reason, code: 'unresolvable', wakeOn };
}

/** Something happened in the cluster that may make room for a pod. */
export type ClusterEvent =
  | { readonly kind: 'node/added'; readonly node: Node }
  | { readonly kind: NodeChangeKind; readonly node: Node }
  /** A bound pod was removed or has finished: its share is free. */
  | { readonly kind: 'pod/removed'; readonly pod: PodInfo }
  /** A bound pod asks for less than before. */
  | { readonly kind: 'pod/shrunk'; readonly pod: PodInfo }
  /** A claim, or the volume that it has, is there or has changed; the claim as namespace/name. */
  | { readonly kind: 'storage/changed'; readonly claim: string }
  /** A volume of the class is free, or the class itself is there or has changed. */
  | { readonly kind: 'storage/class'; readonly storageClass: string }
  /** A pod is bound that was not before. */
  | { readonly kind: 'pod/bound'; readonly pod: PodInfo }
  /**
   * Other pods' selectors see something else of a bound pod: its labels, its controller, or that it is being deleted.
   */
  | { readonly kind: 'pod/changed'; readonly pod: PodInfo; readonly before: PodInfo }
  /** A node is gone, and with it what its pods meant to others. */
  | { readonly kind: 'node/removed'; readonly nodeName: string }
  /** A namespace is there, gone, or has other labels. */
  | { readonly kind: 'namespace/changed'; readonly namespace: string };

/**
 * Which part of a node changed: allocatable or capacity, labels, taints or the unschedulable mark,
 * the Ready condition, reported usage.
 */
export type NodeChangeKind = 'node/resources' | 'node/labels' | 'node/taints' | 'node/ready' | 'node/usage';
export type ClusterEventKind = ClusterEvent['kind'];

export interface PostFiltering {
  /**
   * Called when no node passed, plugin by plugin until one answers; not when `prepare` turned the pod away. Decides,
   * and does nothing itself: the scheduler deletes the victims, writes the nominated node into the pod's status and
   * tries the pod again when they are gone.
   */
  postFilter(attempt: Attempt, verdicts: Verdicts, trial: Trial): MakeRoom | undefined;
}

/**
 * What if some pods were not on a node? Asked in the table itself, without a copy: `begin` chooses the node, `take` and
 * `put` take pods off it and back, `fits` asks all filters of the attempt, and `end` leaves everything as it was. One
 * trial at a time, and none outlives the attempt.
 */
export interface Trial {
  /**
   * The same text for pods of which the filters say the same of every row as long as it is not written; undefined when
   * a filter looks beyond the row.
   */
  readonly shape: string | undefined;
  /**
   * Why it did not fit in the trials of this attempt, with the plugin that said so. A cache of a trial's answer adds
   * what the trial had found.
   */
  readonly rejections: Map<Rejection, string>;
  begin(row: number): void;
  take(pod: PodInfo): void;
  put(pod: PodInfo): void;
  fits(): boolean;
  end(): void;
}

export interface TrialChange {
  readonly nodes: NodeTable;
  readonly row: number;
  readonly pod: PodInfo;
  readonly sign: 1 | -1;
}

/** The first rejection of every node that has one. */
export interface Verdicts {
  rejectionOf(row: number): Rejection | undefined;
}

export interface MakeRoom {
  readonly nominatedNodeName: string;
  /** Pods to delete; none when room is being made there already. */
  readonly victims: readonly PodInfo[];
  /** Those of the victims whose disruption budget does not allow it; told to people. */
  readonly againstBudget?: readonly PodInfo[];
}

export interface Scoring<S> {
  /**
   * How good is each node that passed, 0 (worst) to 100 (best)? Writes the score of the node in `rows[i]` to
   * `scores[i]`, for every i. One call for all nodes, because it is the hottest loop there is: read columns, allocate
   * nothing. With `normalise`, any finite numbers.
   */
  score(state: S, nodes: NodeTable, rows: Int32Array, scores: Float64Array): void;
  /** Brings the plugin's scores of this attempt to 0-100, in place. Called once, after the last score. */
  normalise?(scores: Float64Array): void;
}

export const maxScore = 100;

export interface Reserving<S> {
  /**
   * Called for the chosen node, in profile order, before the pod counts as placed there. Takes what the pod needs
   * outside the node table. Answers its own undo, which is called once, in reverse order, when the pod does not end up
   * there. It must not fail.
   */
  reserve(state: S, attempt: Attempt, nodeName: string): Undo | Rejection;
}

export type Undo = () => void;

export interface Permitting {
  /**
   * The last word before binding; may wait (for the rest of a group, say) until the signal ends it. Undefined permits.
   */
  permit(placement: Placement, signal: AbortSignal): Promise<Rejection | undefined>;
}

/** A pod and the node it is about to be bound to. */
export interface Placement {
  readonly pod: PodInfo;
  readonly nodeName: string;
}

export interface PreBinding {
  /**
   * Prepares the node for the pod (has a volume made, say); not called when `prepare` skipped the attempt. A rejection
   * undoes the placement, and the pod waits for one of its events; throwing does too, and the pod is tried again.
   */
  preBind(placement: Placement, signal: AbortSignal): Promise<Rejection | undefined>;
}

export interface Binding {
  /**
   * Writes the placement to the API. The first plugin of the profile that answers "bound" ends the phase;
   * "pass" asks the next one.
   */
  bind(placement: Placement, signal: AbortSignal): Promise<'bound' | 'pass'>;
}

/** Gives a plugin its type, so that state and methods are checked against each other where the plugin is written. */
export function definePlugin<S = undefined>(plugin: Plugin<S>): Plugin<S> {
  return plugin;
}
