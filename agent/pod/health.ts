import type { ObservedContainer } from '../runtime/runtime.ts';
import { isAlive } from './observation.ts';
import type { PodRecord } from './pod-record.ts';

/** What probes and hooks say of a container that runs. */
export interface ContainerHealth {
  /**
   * Its startup probe has succeeded and its postStart hook has ended; the next init container waits for this one of a
   * sidecar.
   */
  readonly started: boolean;
  /** Its readiness probe succeeds. Never true before `started`. */
  readonly ready: boolean;
  /** Its postStart hook runs: until it has ended the container does not count as running and no later one starts. */
  readonly starting?: boolean;
  /** It must be stopped, and restarted if its policy wants that. */
  readonly failed?: HealthFailure;
}

export interface HealthFailure {
  readonly probe: 'liveness' | 'startup' | 'hook';
  /** For the event that tells of the stop, e.g. "Container app failed liveness probe". */
  readonly message: string;
  /** The probe's own, in place of the pod's. */
  readonly gracePeriodSeconds?: number;
}

/**
 * The seam to the probes. Asked in every step of a pod, for each container that the engine has, also for those that
 * have ended: it answers at once from what it knows. A change of an answer must call `PodWorkers.look`.
 */
export interface Health {
  of(container: ObservedContainer): ContainerHealth;
}

/** A source of health. Only a pod's worker calls it, before each decision and each status. */
export interface HealthKeeper extends Health {
  /** Looks after what runs of the pod now, and no longer after what does not. Does not wait for anything. */
  sync(record: PodRecord): void;
  /** The pod is gone for good. */
  forget(podUid: string): void;
}

/** Without probes: what runs has started and is ready. */
export const runningIsHealthy: Health = {
  of(container) {
    const running = isAlive(container);
    return { started: running, ready: running };
  },
};
