import type { Pod, PodStatus } from '../../api/generated/types.ts';
import { isStatic } from '../../api/kinds/pod/static-pods.ts';
import { toMillis } from '../../api/meta/time.ts';
import type { Blocked } from './blocked.ts';
import type { SeenContainer } from './own-clock.ts';
import { beginLife, computeLife, departureOf, orphanLife, type PodLife, type PodLifeEvent } from './pod-lifecycle.ts';
import { createResizeState, type ResizeState } from './resize-state.ts';

/** Which sources of pods have synced: the API, files. Pods of the others are left alone. */
export interface SyncedSources {
  readonly api: boolean;
  readonly files: boolean;
}

/**
 * All that is known of one pod, by uid. Only its worker changes `containers`, `blocked` and `status`; the informer's
 * handler changes `pod`.
 */
export interface PodRecord {
  readonly uid: string;
  /** The newest from the API, or from its file; undefined for one that only the engine knows. */
  pod: Pod | undefined;
  /** What the engine has, by container id. */
  containers: Map<string, SeenContainer>;
  /** What containers that have ended left to say, by container id. */
  readonly messages: Map<string, string>;
  /** How far it is in its life here. Only `advance` and `demandKill` change it. */
  readonly life: PodLife;
  /** By container name; "" is the sandbox. */
  readonly blocked: Map<string, Blocked>;
  readonly resize: ResizeState;
  status: PodStatus | undefined;
  /** Aborted when what the worker waits for is no longer the newest wish. */
  interrupt: AbortController;
}

export function createRecord(uid: string, pod: Pod | undefined): PodRecord {
  return {
    uid,
    pod,
    containers: new Map(),
    messages: new Map(),
    // A file may describe what runs already, whenever it comes.
    life: pod === undefined ? orphanLife() : beginLife(isStatic(pod)),
    blocked: new Map(),
    resize: createResizeState(),
    status: pod?.status,
    interrupt: new AbortController(),
  };
}

/** Applies an event to the pod's life. False when it changes nothing. */
export function advance(record: PodRecord, event: PodLifeEvent): boolean {
  const own: { life: PodLife } = record;
  const before = own.life;
  own.life = computeLife(before, event);
  return own.life !== before;
}

/** Applies the pod's deletion, and interrupts the wait for a longer grace period. */
export function demandKill(record: PodRecord, event: Extract<PodLifeEvent, { type: 'delete' | 'vanish' }>): void {
  const before = departureOf(record.life)?.gracePeriodSeconds;
  advance(record, event);
  if (departureOf(record.life)?.gracePeriodSeconds !== before) record.interrupt.abort();
}

const defaultGraceSeconds = 30;

/** The pod's own wish; a pod on its way out has had its grace period decided. */
export function graceOf(pod: Pod): number {
  return pod.metadata?.deletionGracePeriodSeconds ?? pod.spec?.terminationGracePeriodSeconds ?? defaultGraceSeconds;
}

/** When its time is over (milliseconds since 1970), if it has an end and has begun. */
export function deadlineOf({ pod, status }: PodRecord): number | undefined {
  const startTime = status?.startTime ?? pod?.status?.startTime;
  const seconds = pod?.spec?.activeDeadlineSeconds;
  return seconds === undefined || startTime === undefined ? undefined : toMillis(startTime) + seconds * 1000;
}
