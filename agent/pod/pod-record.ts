import type { Pod, PodStatus } from '../../api/generated/types.ts';
import { isStatic } from '../../api/kinds/pod/static-pods.ts';
import { toMillis } from '../../api/meta/time.ts';
import type { Refusal } from './admission.ts';
import type { Blocked } from './blocked.ts';
import type { SeenContainer } from './own-clock.ts';
import { createResizeState, type ResizeState } from './resize-state.ts';

/** Why the agent ends a pod; `gracePeriodSeconds` where its own does not count. */
export interface Ending extends Refusal {
  readonly gracePeriodSeconds?: number;
}

/** Which sources of pods have synced: the API, files. Pods of the others are left alone. */
export interface SyncedSources {
  readonly api: boolean;
  readonly files: boolean;
}

/**
 * All that is known of one pod, by uid. Only its worker changes `containers`, `blocked` and `status`; the informer's handler changes
 * `pod`, and what ends a pod is set once:
 *
 *     new --admitted--> running --finished--> (containers stay) --kill--> gone
 *      \--refused--> (Failed) ----------------------------------kill--/
 */
export interface PodRecord {
  readonly uid: string;
  /** The newest from the API, or from its file; undefined for one that only the engine knows. */
  pod: Pod | undefined;
  /** What the engine has, by container id. */
  containers: Map<string, SeenContainer>;
  /** What containers that have ended left to say, by container id. */
  readonly messages: Map<string, string>;
  /** Something happened that is not in `containers` yet. */
  stale: boolean;
  /** The pod is to go; never taken back, the grace period only shrinks. */
  kill: { gracePeriodSeconds: number } | undefined;
  /** The API has it no more, or its file is gone. */
  gone: boolean;
  admitted: boolean;
  refused: Refusal | undefined;
  /** The agent ends it before its containers do, and why: its time is over, or it takes too much of the disk. Set once. */
  ended: Ending | undefined;
  /** It has ended, and its volumes are gone. */
  volumesReleased: boolean;
  /** Nothing of it is left on the machine; only the status write remains. */
  released: boolean;
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
    stale: pod !== undefined && isStatic(pod),
    kill: undefined,
    gone: pod === undefined,
    admitted: false,
    refused: undefined,
    ended: undefined,
    volumesReleased: false,
    released: false,
    blocked: new Map(),
    resize: createResizeState(),
    status: pod?.status,
    interrupt: new AbortController(),
  };
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

/** Wants the pod gone. True when that is news, so that a wait for a longer grace period is interrupted. */
export function demandKill(record: PodRecord, gracePeriodSeconds: number): boolean {
  if (record.kill !== undefined && record.kill.gracePeriodSeconds <= gracePeriodSeconds) return false;
  record.kill = { gracePeriodSeconds };
  record.interrupt.abort();
  return true;
}
