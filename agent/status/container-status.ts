import type { Container, ContainerState, ContainerStateTerminated, ContainerStatus } from '../../api/generated/types.ts';
import { secondsTimestamp } from '../../api/meta/time.ts';
import { hasEnded, isAlive } from '../pod/observation.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';

/** Why a container does not run yet or not again: Kubernetes' reason and a sentence. */
export interface Waiting {
  readonly reason: string;
  readonly message: string | undefined;
}

export interface ContainerFacts {
  /** What the engine has of it, the newest attempt first. */
  readonly attempts: readonly ObservedContainer[];
  /** What the API said last. */
  readonly previous: ContainerStatus | undefined;
  readonly waiting: Waiting | undefined;
  /** Whether it is to run again, so that its end is its last state and not its state. */
  readonly willRestart: boolean;
  /** Whether the pod has been told to end, so that nothing new is waited for. */
  readonly ending: boolean;
}

const creating: Waiting = { reason: 'ContainerCreating', message: undefined };

/** The status of one container. Pure. */
export function computeContainerStatus(container: Container, facts: ContainerFacts): ContainerStatus {
  const newest = facts.attempts.find((attempt) => attempt.state !== 'created');
  const running = newest !== undefined && isAlive(newest);
  const status: ContainerStatus = {
    name: container.name ?? '',
    state: stateOf(newest, facts),
    ready: running,
    started: running,
    restartCount: newest?.attempt ?? facts.previous?.restartCount ?? 0,
    image: newest?.image ?? container.image ?? '',
    imageID: newest?.imageId ?? '',
  };
  const last = lastStateOf(newest, status, facts);
  if (last !== undefined) status.lastState = { terminated: last };
  if (newest !== undefined) status.containerID = containerId(newest);
  return status;
}

function stateOf(newest: ObservedContainer | undefined, facts: ContainerFacts): ContainerState {
  if (newest === undefined) return lost(facts) ?? waitingState(facts.waiting ?? creating);
  if (isAlive(newest))
    return { running: newest.startedAt === undefined ? {} : { startedAt: secondsTimestamp(newest.startedAt) } };
  if (facts.willRestart && facts.waiting !== undefined) return waitingState(facts.waiting);
  return { terminated: terminated(newest, facts) };
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
  if (newest === undefined) return facts.previous?.state?.terminated ?? facts.previous?.lastState?.terminated;
  if (status.state?.waiting !== undefined) return terminated(newest, facts);
  const before = facts.attempts.find((attempt) => attempt.attempt < newest.attempt && hasEnded(attempt));
  if (before !== undefined) return terminated(before, facts);
  const { previous } = facts;
  return previous?.restartCount === newest.attempt ? previous.lastState?.terminated : previous?.state?.terminated;
}

function waitingState({ reason, message }: Waiting): ContainerState {
  return { waiting: message === undefined ? { reason } : { reason, message } };
}

export function containerId(container: ObservedContainer): string {
  return `docker://${container.id}`;
}

function terminated(container: ObservedContainer, { previous }: ContainerFacts): ContainerStateTerminated {
  const state: ContainerStateTerminated = {
    exitCode: container.exitCode ?? (container.error === '' ? 0 : 128),
    reason: endReason(container, previous),
    finishedAt: secondsTimestamp(container.finishedAt ?? container.createdAt),
    containerID: containerId(container),
  };
  if (container.startedAt !== undefined) state.startedAt = secondsTimestamp(container.startedAt);
  if (container.error !== '') state.message = container.error;
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
