import type { Container, ContainerState, ContainerStateTerminated, ContainerStatus } from '../../api/generated/types.ts';
import { secondsTimestamp } from '../../api/meta/time.ts';
import type { Waiting } from '../pod/blocked.ts';
import type { Health } from '../pod/health.ts';
import { hasEnded, isAlive } from '../pod/observation.ts';
import type { Role } from '../pod/pod-containers.ts';
import { containerId } from '../runtime/container-id.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';

export interface ContainerFacts {
  /** What the engine has of it, the newest attempt first. */
  readonly attempts: readonly ObservedContainer[];
  /** What the API said last. */
  readonly previous: ContainerStatus | undefined;
  readonly waiting: Waiting | undefined;
  /** Whether it is to run again, so that its end is its last state and not its state. */
  readonly willRestart: boolean;
  /** Whether the pod is terminating, so that no start is expected. */
  readonly ending: boolean;
  readonly role: Role;
  /** Whether the pod has init containers, which all others wait for. */
  readonly hasInit: boolean;
  /** Whether an init container must have been done, because what comes after it has begun. */
  readonly mustBeDone: boolean;
  readonly health: Health;
  /** What containers that have ended left to say, by container id. */
  readonly messages?: ReadonlyMap<string, string>;
}

const notUp = { started: false, ready: false } as const;
const creating: Waiting = { reason: 'ContainerCreating', message: undefined };
export const initializing: Waiting = { reason: 'PodInitializing', message: undefined };

/** The status of one container. Pure. */
export function computeContainerStatus(container: Container, facts: ContainerFacts): ContainerStatus {
  const newest = facts.attempts.find((attempt) => attempt.state !== 'created' && !isStarting(attempt, facts));
  const { started, ready } = newest !== undefined && isAlive(newest) ? facts.health.of(newest) : notUp;
  const state = stateOf(newest, facts);
  const status: ContainerStatus = {
    name: container.name ?? '',
    state,
    ready: facts.role === 'init' ? state.terminated?.exitCode === 0 : ready && facts.role !== 'ephemeral',
    ...(facts.role !== 'ephemeral' && { started }),
    restartCount: newest?.attempt ?? facts.previous?.restartCount ?? 0,
    image: newest?.image ?? container.image ?? '',
    imageID: newest === undefined ? '' : imageIdOf(newest),
  };
  if (newest?.stopSignal !== undefined) status.stopSignal = newest.stopSignal;
  const last = lastStateOf(newest, status, facts);
  if (last !== undefined) status.lastState = { terminated: last };
  const id = newest === undefined ? facts.previous?.containerID : containerId(newest);
  if (id) status.containerID = id;
  return status;
}

/** Its postStart hook runs: only after that it is said to run. */
function isStarting(attempt: ObservedContainer, { health }: ContainerFacts): boolean {
  return isAlive(attempt) && health.of(attempt).starting === true;
}

function stateOf(newest: ObservedContainer | undefined, facts: ContainerFacts): ContainerState {
  if (newest === undefined)
    return done(facts) ?? lost(facts) ?? waitingState(facts.waiting ?? (facts.hasInit ? initializing : creating));
  if (isAlive(newest))
    return { running: newest.startedAt === undefined ? {} : { startedAt: secondsTimestamp(newest.startedAt) } };
  if (facts.willRestart && facts.waiting !== undefined) return waitingState(facts.waiting);
  return { terminated: terminated(newest, facts) };
}

/** An init container that was removed keeps the status of its end. */
function done({ previous, mustBeDone }: ContainerFacts): ContainerState | undefined {
  if (!mustBeDone) return undefined;
  if (previous?.state?.terminated !== undefined) return previous.state;
  const message = 'the container is gone from the engine; what comes after it has begun, so it must have succeeded';
  return { terminated: { exitCode: 0, reason: 'Completed', message } };
}

/** It ran, the engine no longer knows it, and it will not run again. */
function lost({ previous, ending }: ContainerFacts): ContainerState | undefined {
  if (!ending) return undefined;
  if (previous?.state?.terminated !== undefined) return previous.state;
  if (previous?.state?.running === undefined) return undefined;
  const message = 'The container could not be located when the pod was terminated';
  const containerID = previous.containerID;
  return { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown', message, ...(containerID ? { containerID } : {}) } };
}

function lastStateOf(
  newest: ObservedContainer | undefined,
  status: ContainerStatus,
  facts: ContainerFacts,
): ContainerStateTerminated | undefined {
  if (newest === undefined && status.state?.terminated !== undefined) return facts.previous?.lastState?.terminated;
  if (newest === undefined) return facts.previous?.state?.terminated ?? facts.previous?.lastState?.terminated;
  if (status.state?.waiting !== undefined) return terminated(newest, facts);
  const before = facts.attempts.find((attempt) => attempt.attempt < newest.attempt && hasEnded(attempt));
  if (before !== undefined) return terminated(before, facts);
  const { previous } = facts;
  const same = previous?.restartCount === newest.attempt || previous?.state?.waiting !== undefined;
  return same ? previous?.lastState?.terminated : previous?.state?.terminated;
}

function waitingState({ reason, message }: Waiting): ContainerState {
  return { waiting: message === undefined ? { reason } : { reason, message } };
}

/** As Kubernetes words it with Docker: by what it can be pulled again, or by its id alone. */
function imageIdOf({ imageDigest, imageId }: ObservedContainer): string {
  return imageDigest === undefined ? `docker://${imageId}` : `docker-pullable://${imageDigest}`;
}

/** When a container started that never did, as Kubernetes says it: clients show a time that is absent as the year 1. */
const never = new Date(0);

function terminated(container: ObservedContainer, { previous, messages }: ContainerFacts): ContainerStateTerminated {
  const state: ContainerStateTerminated = {
    exitCode: container.exitCode ?? (container.error === '' ? 0 : 128),
    reason: endReason(container, previous),
    startedAt: secondsTimestamp(container.startedAt ?? never),
    finishedAt: secondsTimestamp(container.finishedAt ?? container.createdAt),
    containerID: containerId(container),
  };
  const message = [container.error, messages?.get(container.id) ?? ''].filter((text) => text !== '').join(': ');
  if (message !== '') state.message = message;
  return state;
}

function endReason(container: ObservedContainer, previous: ContainerStatus | undefined): string {
  if (container.oomKilled || wasOomKilled(container, previous)) return oomKilled;
  if (container.error !== '' && container.startedAt === undefined) return 'ContainerCannotRun';
  return container.exitCode === 0 ? 'Completed' : 'Error';
}

const oomKilled = 'OOMKilled';

/** Said before, by an agent that heard of it: the next one may not find it in the kernel's log any more. */
function wasOomKilled(container: ObservedContainer, previous: ContainerStatus | undefined): boolean {
  const id = containerId(container);
  return [previous?.state?.terminated, previous?.lastState?.terminated].some(
    (end) => end?.containerID === id && end.reason === oomKilled,
  );
}
