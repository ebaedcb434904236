import type { Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet } from '../../api/generated/types.ts';
import { findCondition } from '../../api/meta/conditions.ts';
import { secondsTimestamp, toMillis } from '../../api/meta/time.ts';
import { replicasOf } from './sizes.ts';

/** Reasons of the condition Progressing that `rollout status` and other tools read. */
export const reasons = {
  newSetCreated: 'NewReplicaSetCreated',
  newSetFound: 'FoundNewReplicaSet',
  setUpdated: 'ReplicaSetUpdated',
  available: 'NewReplicaSetAvailable',
  timedOut: 'ProgressDeadlineExceeded',
  createFailed: 'ReplicaSetCreateError',
  paused: 'DeploymentPaused',
  resumed: 'DeploymentResumed',
} as const;

type Conditions = readonly DeploymentCondition[];

/** A condition without its times. */
export type Said = Required<Pick<DeploymentCondition, 'type' | 'status' | 'reason' | 'message'>>;

/** Sets a condition. One that says the same is left alone, its times too, unless `isNews` says that it counts anew. */
export function withCondition(conditions: Conditions, said: Said, now: number, isNews = false): DeploymentCondition[] {
  const known = findCondition(conditions, said.type);
  const isSame = known?.status === said.status && known.reason === said.reason && known.message === said.message;
  if (isSame && !isNews) return [...conditions];
  const at = secondsTimestamp(new Date(now));
  const lastTransitionTime = known?.status === said.status && known.lastTransitionTime ? known.lastTransitionTime : at;
  return [...without(conditions, said.type), { ...said, lastUpdateTime: at, lastTransitionTime }];
}

export const without = (conditions: Conditions, type: string): DeploymentCondition[] =>
  conditions.filter((each) => each.type !== type);

/** Kubernetes takes a deadline of 2^31-1 for none. */
export function deadlineMs({ spec }: Deployment): number | undefined {
  const seconds = spec?.progressDeadlineSeconds;
  return seconds === undefined || seconds === 2 ** 31 - 1 ? undefined : seconds * 1000;
}

export interface ProgressInput {
  readonly deployment: Deployment;
  readonly current: ReplicaSet | undefined;
  /** With its counts, and the conditions of before. */
  readonly next: DeploymentStatus;
  readonly now: number;
}

/** Whether everything that is wanted is there, of the present template alone, and available. */
export function isComplete({ deployment, next }: Pick<ProgressInput, 'deployment' | 'next'>): boolean {
  const wanted = replicasOf(deployment);
  return (
    next.updatedReplicas === wanted &&
    next.replicas === wanted &&
    next.availableReplicas === wanted &&
    (next.observedGeneration ?? 0) >= (deployment.metadata?.generation ?? 0)
  );
}

/** Whether a rollout has come further than the status of before says. */
function hasProgressed({ deployment, next }: ProgressInput): boolean {
  const { updatedReplicas = 0, replicas = 0, readyReplicas = 0, availableReplicas = 0 } = deployment.status ?? {};
  const updated = next.updatedReplicas ?? 0;
  return (
    updated > updatedReplicas ||
    (next.replicas ?? 0) - updated < replicas - updatedReplicas ||
    (next.readyReplicas ?? 0) > readyReplicas ||
    (next.availableReplicas ?? 0) > availableReplicas
  );
}

/** The conditions with Progressing as a rollout stands. */
export function withProgress(input: ProgressInput): DeploymentCondition[] {
  const { deployment, current, next, now } = input;
  const conditions = next.conditions ?? [];
  if (deadlineMs(deployment) === undefined) return without(conditions, 'Progressing');
  const known = findCondition(conditions, 'Progressing');
  // A rollout that has completed is not judged again until the template or the number of replicas changes.
  if (known?.reason === reasons.available && next.replicas === next.updatedReplicas) return [...conditions];
  const name = current?.metadata?.name;
  const subject = name ? `ReplicaSet "${name}"` : `Deployment "${deployment.metadata?.name}"`;
  const say = (status: string, reason: string, message: string): Said => ({ type: 'Progressing', status, reason, message });
  if (isComplete(input))
    return withCondition(conditions, say('True', reasons.available, `${subject} has successfully progressed.`), now);
  if (hasProgressed(input))
    return withCondition(conditions, say('True', reasons.setUpdated, `${subject} is progressing.`), now, true);
  if (isOverdue(deployment, known, now))
    return withCondition(conditions, say('False', reasons.timedOut, `${subject} has timed out progressing.`), now);
  // A ReplicaSet that was adopted, or a deadline that is new: it runs from now on.
  if (!known && name) return withCondition(conditions, say('True', reasons.newSetFound, `Found new replica set "${name}"`), now);
  return [...conditions];
}

/** Whether a rollout has not come further within the deadline. */
export function isOverdue(deployment: Deployment, progressing: DeploymentCondition | undefined, now: number): boolean {
  if (!progressing || progressing.reason === reasons.available) return false;
  if (progressing.reason === reasons.timedOut) return true;
  const dueAt = dueAtOf(deployment, progressing);
  return dueAt !== undefined && dueAt < now;
}

/** When the deadline passes; undefined where none runs. */
export function dueAtOf(deployment: Deployment, progressing: DeploymentCondition | undefined): number | undefined {
  const ms = deadlineMs(deployment);
  const isRunning = progressing && progressing.reason !== reasons.available && progressing.reason !== reasons.timedOut;
  if (ms === undefined || !isRunning || deployment.spec?.paused || !progressing.lastUpdateTime) return undefined;
  return toMillis(progressing.lastUpdateTime) + ms;
}

/** The conditions with Progressing as pausing and resuming change it; while paused no deadline runs. */
export function withPause(deployment: Deployment, conditions: Conditions, now: number): DeploymentCondition[] {
  const known = findCondition(conditions, 'Progressing');
  if (deadlineMs(deployment) === undefined || known?.reason === reasons.timedOut) return [...conditions];
  const isPaused = deployment.spec?.paused === true;
  const wasPaused = known?.reason === reasons.paused;
  if (isPaused === wasPaused) return [...conditions];
  const said = isPaused
    ? { reason: reasons.paused, message: 'Deployment is paused' }
    : { reason: reasons.resumed, message: 'Deployment is resumed' };
  return withCondition(conditions, { type: 'Progressing', status: 'Unknown', ...said }, now);
}

/** The conditions with ReplicaFailure as the ReplicaSets have it, the present one first. */
export function withFailure(conditions: Conditions, sets: readonly ReplicaSet[], now: number): DeploymentCondition[] {
  const failed = sets
    .map(({ status }) => findCondition(status?.conditions, 'ReplicaFailure'))
    .find((each) => each?.status === 'True');
  if (!failed) return without(conditions, 'ReplicaFailure');
  const { reason = '', message = '' } = failed;
  return withCondition(conditions, { type: 'ReplicaFailure', status: 'True', reason, message }, now);
}

/** The conditions with Available: whether as many pods are available as a rollout has to leave. */
export function withAvailable(conditions: Conditions, isAvailable: boolean, now: number): DeploymentCondition[] {
  const said = isAvailable
    ? { status: 'True', reason: 'MinimumReplicasAvailable', message: 'Deployment has minimum availability.' }
    : { status: 'False', reason: 'MinimumReplicasUnavailable', message: 'Deployment does not have minimum availability.' };
  return withCondition(conditions, { type: 'Available', ...said }, now);
}
