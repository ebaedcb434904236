import type { ContainerStateTerminated, ContainerStatus, Pod } from '../../api/generated/types.ts';
import type { PodContainer } from '../pod/pod-containers.ts';
import { mayRestart } from '../pod/restart-policy.ts';

/** A container as the phase counts it. */
export interface PhasePart {
  readonly each: PodContainer;
  readonly status: ContainerStatus;
}

export interface PhaseInput {
  readonly pod: Pod;
  readonly parts: readonly PhasePart[];
  /** The pod is terminating: none of its containers restarts. */
  readonly killing: boolean;
  /**
   * A container of the pod proper has begun since its sandbox is there: a sidecar that restarts does not make it
   * Pending again.
   */
  readonly initialized: boolean;
  /** All containers are being restarted together, whatever their policies say. */
  readonly anew: boolean;
}

/**
 * Kubernetes' rule: Pending while the pod initializes and until every container has run once; then Running; ended only
 * when nothing will run again. Pure.
 */
export function computePhase({ pod, parts, killing, initialized, anew }: PhaseInput): string {
  const again = ({ each, status }: PhasePart) => anew || mayRestart(pod, each, endOf(status)?.exitCode ?? 0);
  const of = (role: string) => parts.filter(({ each }) => each.role === role);
  const [inits, sidecars, main] = [of('init'), of('sidecar'), of('main')];
  if (inits.some((part) => (endOf(part.status)?.exitCode ?? 0) !== 0 && !again(part))) return 'Failed';
  const running = [...main, ...sidecars].some(({ status }) => status.state?.running !== undefined);
  const pending =
    inits.some(({ status }) => status.state?.terminated?.exitCode !== 0) ||
    main.some(({ status }) => isUnstarted(status)) ||
    (!initialized && sidecars.some(({ status }) => !status.started && status.state?.terminated === undefined));
  if (pending && !(killing && !running && !inits.some(isRunning))) return 'Pending';
  if (running) return 'Running';
  if (!killing && main.some(again)) return 'Running';
  return main.every(({ status }) => endOf(status)?.exitCode === 0) ? 'Succeeded' : 'Failed';
}

/** How it ended, or ended last. */
function endOf(status: ContainerStatus): ContainerStateTerminated | undefined {
  return status.state?.running ? undefined : (status.state?.terminated ?? status.lastState?.terminated);
}

function isRunning({ status }: PhasePart): boolean {
  return status.state?.running !== undefined;
}

function isUnstarted(status: ContainerStatus): boolean {
  return status.state?.waiting !== undefined && status.lastState?.terminated === undefined;
}
