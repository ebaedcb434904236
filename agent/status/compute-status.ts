import type { ContainerStatus, Pod, PodCondition, PodStatus, Timestamp } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { isConditionTrue, setConditions } from '../../api/meta/conditions.ts';
import { secondsTimestamp } from '../../api/meta/time.ts';
import { type BackOff, computeRestart, formatDuration } from '../pod/back-off.ts';
import type { Waiting } from '../pod/blocked.ts';
import { beginsAnew, isOver } from '../pod/compute-actions.ts';
import type { Health } from '../pod/health.ts';
import { isSaidDone } from '../pod/init-step.ts';
import { allContainers, hasEnded, isAlive, isIn, type PodObservation, readySandbox } from '../pod/observation.ts';
import { ephemeralContainers, initContainers, mainContainers, type PodContainer, type Role } from '../pod/pod-containers.ts';
import { mayRestart } from '../pod/restart-policy.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';
import { computeConditions } from './conditions.ts';
import { computeContainerStatus, initializing } from './container-status.ts';
import { computePhase } from './phase.ts';

export interface StatusInput {
  readonly pod: Pod;
  /** The previous status: the last computed one, or the API's. */
  readonly previous: PodStatus | undefined;
  readonly observed: PodObservation;
  readonly nowMs: number;
  readonly hostIP: string;
  /** Whether the pod is being deleted. */
  readonly killing: boolean;
  /** The agent will not run it, and why. */
  readonly refused: { readonly reason: string; readonly message: string } | undefined;
  /** The agent ended it, and why. Told once nothing of it runs any more. */
  readonly ended?: { readonly reason: string; readonly message: string } | undefined;
  /** What a container waits for; "" for the sandbox. */
  waiting(name: string): Waiting | undefined;
  readonly health: Health;
  readonly backOff: BackOff;
  /** What containers that have ended left to say, by container id. */
  readonly messages?: ReadonlyMap<string, string>;
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
  const facts = factsOf(input);
  const own = [...initContainers(pod), ...mainContainers(pod)];
  const parts = own.map((each) => ({ each, status: statusOf(input, each, facts) }));
  const ephemeral = ephemeralContainers(pod).map((each) => statusOf(input, each, facts));
  const ended = endingOf(input, facts);
  const phase = ended?.phase ?? computePhase({ pod, parts, killing: input.killing, ...facts });
  const ip = podIP(input);
  const sandboxReady = readySandbox(input.observed) !== undefined;
  const conditions = [...computeConditions({ pod, phase, parts, sandboxReady, ...facts }), ...disruption(ended)];
  const statuses = (isMain: boolean) => parts.filter(({ each }) => (each.role === 'main') === isMain).map(({ status }) => status);
  return {
    ...base,
    ...ended,
    phase,
    ...(ip === undefined ? {} : { podIP: ip, podIPs: [{ ip }] }),
    ...(facts.hasInit ? { initContainerStatuses: statuses(false) } : {}),
    containerStatuses: statuses(true),
    ...(ephemeral.length === 0 ? {} : { ephemeralContainerStatuses: ephemeral }),
    conditions: keepTimes(input, conditions, now),
  };
}

/** What the statuses of all containers of a pod are worked out from. */
interface StatusFacts {
  readonly hasInit: boolean;
  /** The pod's own containers have begun since its sandbox is there, or at all in a pod that has ended. */
  readonly initialized: boolean;
  /** How many init containers must be done, because what comes after them has begun. */
  readonly begun: number;
  /** Nothing of the pod runs again. */
  readonly over: boolean;
  readonly anew: boolean;
}

function factsOf({ pod, observed: found, previous, killing, ended }: StatusInput): StatusFacts {
  const sandbox = readySandbox(found);
  const over = killing || ended !== undefined || isFinished(pod) || isOver(pod, found);
  const inits = initContainers(pod);
  const began = ({ container: { name = '' } }: PodContainer) =>
    found.containers.get(name)?.some((container) => over || isIn(sandbox, container)) ?? false;
  const initialized = mainContainers(pod).some(began);
  const anew = !over && isBeginningAnew(pod, found, previous);
  return {
    hasInit: inits.length > 0,
    initialized: initialized && !anew,
    begun: anew ? -1 : initialized ? inits.length : inits.findLastIndex(began),
    over,
    anew,
  };
}

/** From the end that asked for it until something runs again. */
function isBeginningAnew(pod: Pod, found: PodObservation, previous: PodStatus | undefined): boolean {
  if (beginsAnew(pod, found) !== undefined) return true;
  return found.containers.size === 0 && isConditionTrue(previous?.conditions, 'AllContainersRestarting');
}

/** An end that the agent decided is reported once nothing runs any more. */
function endingOf({ pod, ended, observed: found }: StatusInput, { over }: StatusFacts): EndOf | undefined {
  if (isFinished(pod)) return { phase: pod.status?.phase ?? 'Failed' };
  if (ended === undefined || !over || allContainers(found).some(isAlive)) return undefined;
  return { phase: 'Failed', reason: ended.reason, message: ended.message };
}

/** Of a pod that the node itself ends, so that its owner knows that it was not its own failure. */
function disruption(ended: EndOf | undefined): PodCondition[] {
  if (ended?.reason !== 'Evicted') return [];
  return [{ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message: ended.message ?? '' }];
}

interface EndOf {
  readonly phase: string;
  readonly reason?: string;
  readonly message?: string;
}

/** Of which generation of the spec this speaks; the agent acts on what the informer has. */
function observed({ metadata }: Pod): { observedGeneration?: number } {
  return metadata?.generation === undefined ? {} : { observedGeneration: metadata.generation };
}

/** A reason that was set for the end of the pod stays. */
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

function statusOf(input: StatusInput, { role, container }: PodContainer, facts: StatusFacts): ContainerStatus {
  const { pod, previous, observed: found } = input;
  const name = container.name ?? '';
  const attempts = found.containers.get(name) ?? [];
  const newest = attempts[0];
  const dead = newest !== undefined && hasEnded(newest) && !facts.over ? newest : undefined;
  // In a new sandbox even init containers that were done run again.
  const again = dead !== undefined && facts.hasInit && !isIn(readySandbox(found), dead);
  const willRestart = dead !== undefined && ((again && role === 'init') || mayRestart(pod, { role, container }, dead.exitCode));
  const waits = dead === undefined || !willRestart ? undefined : again ? initializing : crashLoop(input, dead);
  // Behind init containers it is these that wait for the sandbox.
  const sandbox = newest === undefined && !facts.hasInit ? input.waiting('') : undefined;
  const said = saidOf(previous, role)?.find((candidate) => candidate.name === name);
  return computeContainerStatus(container, {
    attempts,
    previous: said,
    waiting: input.waiting(name) ?? waits ?? sandbox,
    willRestart,
    ending: input.killing || isFinished(pod) || (role === 'ephemeral' && Boolean(said?.containerID)),
    health: input.health,
    role,
    hasInit: facts.hasInit,
    mustBeDone:
      role === 'init' &&
      (initContainers(pod).findIndex((each) => each.container === container) < facts.begun ||
        isSaidDone(name, { sandbox: readySandbox(found), previous })),
    ...(input.messages === undefined ? {} : { messages: input.messages }),
  });
}

function saidOf(previous: PodStatus | undefined, role: Role): ContainerStatus[] | undefined {
  if (role === 'main') return previous?.containerStatuses;
  return role === 'ephemeral' ? previous?.ephemeralContainerStatuses : previous?.initContainerStatuses;
}

function crashLoop({ nowMs, pod, backOff }: StatusInput, ended: ObservedContainer): Waiting | undefined {
  const { notBefore, delayMs } = computeRestart(ended, nowMs, backOff);
  if (notBefore <= nowMs) return undefined;
  const { name, namespace, uid } = pod.metadata ?? {};
  const message = `back-off ${formatDuration(delayMs)} restarting failed container=${ended.containerName} pod=${name}_${namespace}(${uid})`;
  return { reason: 'CrashLoopBackOff', message };
}

/** A condition that says the same keeps the time since when it does. */
function keepTimes({ pod, previous }: StatusInput, next: readonly PodCondition[], now: Timestamp): PodCondition[] {
  const own = new Set(next.map((condition) => condition.type));
  return setConditions(
    (previous?.conditions ?? []).filter((condition) => own.has(condition.type)),
    next.map((condition) => ({ ...condition, ...observed(pod) })),
    now,
  );
}
