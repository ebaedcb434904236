import type { ContainerStatus, Pod, PodCondition, PodStatus, Timestamp } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { setConditions } from '../../api/meta/conditions.ts';
import { secondsTimestamp } from '../../api/meta/time.ts';
import { computeRestart, formatDuration } from '../pod/back-off.ts';
import { mayRestart } from '../pod/compute-actions.ts';
import { hasEnded, type PodObservation, readySandbox } from '../pod/observation.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';
import { computeContainerStatus, type Waiting } from './container-status.ts';

export interface StatusInput {
  readonly pod: Pod;
  /** The status to go on from: what was computed last, or what the API has. */
  readonly previous: PodStatus | undefined;
  readonly observed: PodObservation;
  readonly nowMs: number;
  readonly hostIP: string;
  /** Whether the pod is being deleted. */
  readonly killing: boolean;
  /** The agent will not run it, and why. */
  readonly refused: { readonly reason: string; readonly message: string } | undefined;
  waiting(name: string): Waiting | undefined;
}

/** The whole status the agent answers for; of the conditions only its own. Pure. */
export function computeStatus(input: StatusInput): PodStatus {
  const { pod, previous, nowMs, refused } = input;
  const now = secondsTimestamp(new Date(nowMs));
  const base: PodStatus = {
    ...endReasons(pod),
    ...observed(pod),
    startTime: previous?.startTime ?? now,
    ...hostAddresses(input.hostIP),
  };
  if (refused !== undefined) return { ...base, phase: 'Failed', ...refused };
  const containerStatuses = (pod.spec?.containers ?? []).map((container) => statusOf(input, container.name ?? ''));
  const phase = isFinished(pod) ? (pod.status?.phase ?? 'Failed') : computePhase(pod, containerStatuses, input.killing);
  const ip = podIP(input);
  return {
    ...base,
    phase,
    ...(ip === undefined ? {} : { podIP: ip, podIPs: [{ ip }] }),
    containerStatuses,
    conditions: conditionsOf(input, phase, containerStatuses, now),
  };
}

/** Of which generation of the spec this speaks; the agent acts on what the informer has. */
function observed({ metadata }: Pod): { observedGeneration?: number } {
  return metadata?.generation === undefined ? {} : { observedGeneration: metadata.generation };
}

/** What somebody said about the end of the pod stays. */
function endReasons(pod: Pod): PodStatus {
  const { reason, message } = (isFinished(pod) && pod.status) || {};
  return { ...(reason ? { reason } : {}), ...(message ? { message } : {}) };
}

function hostAddresses(hostIP: string): PodStatus {
  return hostIP === '' ? {} : { hostIP, hostIPs: [{ ip: hostIP }] };
}

/** A pod on the host's network has the host's address; a finished one keeps the address it had. */
function podIP({ pod, observed, hostIP, previous }: StatusInput): string | undefined {
  const sandbox = readySandbox(observed);
  if (pod.spec?.hostNetwork === true) return sandbox === undefined ? previous?.podIP : hostIP || undefined;
  return sandbox?.ip ?? previous?.podIP;
}

function statusOf(input: StatusInput, name: string): ContainerStatus {
  const container = input.pod.spec?.containers?.find((candidate) => candidate.name === name) ?? { name };
  const attempts = input.observed.containers.get(name) ?? [];
  const newest = attempts[0];
  const willRestart = newest !== undefined && !input.killing && !isFinished(input.pod) && mayRestart(input.pod, newest);
  return computeContainerStatus(container, {
    attempts,
    previous: input.previous?.containerStatuses?.find((candidate) => candidate.name === name),
    waiting:
      input.waiting(name) ?? (willRestart && newest !== undefined && hasEnded(newest) ? crashLoop(input, newest) : undefined),
    willRestart,
    ending: input.killing || isFinished(input.pod),
  });
}

function crashLoop({ nowMs, pod }: StatusInput, ended: ObservedContainer): Waiting | undefined {
  const { notBefore, delayMs } = computeRestart(ended, nowMs);
  if (notBefore <= nowMs) return undefined;
  const { name, namespace, uid } = pod.metadata ?? {};
  const message = `back-off ${formatDuration(delayMs)} restarting failed container=${ended.containerName} pod=${name}_${namespace}(${uid})`;
  return { reason: 'CrashLoopBackOff', message };
}

/** Kubernetes' rule: Pending until every container has run once; then Running; ended only when nothing will run again. */
export function computePhase(pod: Pod, statuses: readonly ContainerStatus[], killing: boolean): string {
  const running = statuses.some((status) => status.state?.running !== undefined);
  const unstarted = statuses.some((status) => status.state?.waiting !== undefined && status.lastState?.terminated === undefined);
  if (unstarted && !(killing && !running)) return 'Pending';
  if (running) return 'Running';
  const ends = statuses.map((status) => status.state?.terminated ?? status.lastState?.terminated);
  const failed = ends.some((end) => end === undefined || end.exitCode !== 0);
  const policy = pod.spec?.restartPolicy ?? 'Always';
  if (killing) return failed ? 'Failed' : 'Succeeded';
  if (policy === 'Always' || (policy === 'OnFailure' && failed)) return 'Running';
  return failed ? 'Failed' : 'Succeeded';
}

function conditionsOf(input: StatusInput, phase: string, statuses: readonly ContainerStatus[], now: Timestamp): PodCondition[] {
  const ready = readiness(phase, statuses);
  const sandbox = readySandbox(input.observed) !== undefined;
  const next: PodCondition[] = [
    { type: 'PodReadyToStartContainers', status: sandbox ? 'True' : 'False' },
    phase === 'Succeeded'
      ? { type: 'Initialized', status: 'True', reason: 'PodCompleted' }
      : { type: 'Initialized', status: 'True' },
    { type: 'ContainersReady', ...ready },
    { type: 'Ready', ...ready },
  ];
  const own = new Set(next.map((condition) => condition.type));
  return setConditions(
    (input.previous?.conditions ?? []).filter((condition) => own.has(condition.type)),
    next.map((condition) => ({ ...condition, ...observed(input.pod) })),
    now,
  );
}

function readiness(phase: string, statuses: readonly ContainerStatus[]): Omit<PodCondition, 'type'> & { status: string } {
  if (phase === 'Succeeded') return { status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { status: 'False', reason: 'PodFailed' };
  const unready = statuses.filter((status) => status.ready !== true).map((status) => status.name);
  if (unready.length === 0) return { status: 'True' };
  return { status: 'False', reason: 'ContainersNotReady', message: `containers with unready status: [${unready.join(' ')}]` };
}
