import type { Node } from '../../api/generated/types.ts';
import { quantityMilli, quantityValue } from '../../api/meta/quantity.ts';
import { toMillis } from '../../api/meta/time.ts';
import type { PodInfo } from '../framework/pod-info.ts';

/** What a node last said about itself, on the scheduler's clock. */
export interface Reading {
  /** When the node took it, on the node's clock: only compared with itself. */
  readonly takenAt: number;
  /**
   * When the scheduler learned of it: a reading is judged by change on our own clock, so that skewed clocks do no harm.
   */
  readonly arrivedAt: number;
  readonly windowMs: number;
  readonly cpuMilli: number;
  readonly memory: number;
}

/** A pod that was put on the node lately. */
export interface RecentPlacement {
  readonly pod: PodInfo;
  readonly at: number;
}

/**
 * How long after its placement a pod's own use may not show in a reading: the image may have to be fetched, the program
 * has to start. Agents report at least every 60 s, so a placement counts by its requests for half a minute to one and a
 * half.
 */
export const settleMs = 30_000;

/**
 * The reading in `node`; `previous` itself when the node has not taken another.
 * The first one seen is as old as the node says.
 */
export function nextReading(node: Node, previous: Reading | undefined, now: number): Reading | undefined {
  const usage = node.status?.usage;
  if (!usage?.timestamp) return undefined;
  const takenAt = toMillis(usage.timestamp);
  if (previous?.takenAt === takenAt) return previous;
  return {
    takenAt,
    arrivedAt: previous ? now : Math.min(now, takenAt),
    windowMs: (usage.windowSeconds ?? 0) * 1000,
    cpuMilli: usage.cpu ? quantityMilli(usage.cpu) : 0,
    memory: usage.memory ? quantityValue(usage.memory) : 0,
  };
}

/** The figures of a node that `creditRate` needs, and the pods whose use its reading may lack. */
export interface UsageShares {
  readonly usageAt: number;
  readonly used: number;
  /** What is set aside for the system: capacity - allocatable. */
  readonly system: number;
  /** What all pods on the node ask for, with the assumption for those that ask for nothing. */
  readonly requested: number;
  readonly recent: ReadonlyMap<string, RecentPlacement>;
}

/**
 * Which part of its request a pod is taken to use, 0 to 1. A node reports one sum, so what its pods use is divided
 * among the pods that the reading shows, in proportion to their requests. A pod never counts with more than it asks
 * for: the rest may be another's.
 */
export function creditRate(
  { usageAt, used, system, requested, recent }: UsageShares,
  requestOf: (pod: PodInfo) => number,
): number {
  let shown = requested;
  for (const { pod, at } of recent.values()) if (at > usageAt) shown -= requestOf(pod);
  return shown > 0 ? Math.min(1, Math.max(0, used - system) / shown) : 0;
}

/** Whether the pod was placed after the reading arrived. */
export function isAfterReading(recent: ReadonlyMap<string, RecentPlacement>, uid: string, usageAt: number): boolean {
  return (recent.get(uid)?.at ?? Number.NEGATIVE_INFINITY) > usageAt;
}

/**
 * Whether the reading holds all that the pod uses, so that its requests need not be added. Without a reading:
 * whether the next will.
 */
export function isSettled(placement: RecentPlacement, reading: Reading | undefined, now: number): boolean {
  return placement.at + settleMs + (reading?.windowMs ?? 0) <= (reading?.arrivedAt ?? now);
}
