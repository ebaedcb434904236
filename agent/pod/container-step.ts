import type { Container, Pod, PodStatus } from '../../api/generated/types.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';
import { type BackOff, computeRestart } from './back-off.ts';
import type { SizeChange } from './container-size.ts';
import type { Health, HealthFailure } from './health.ts';
import { hasEnded, isAlive, isIn } from './observation.ts';
import type { Action } from './plan.ts';
import type { PodContainer } from './pod-containers.ts';
import { mayRestart, restartsOnFailure } from './restart-policy.ts';
import { specHash } from './spec-hash.ts';

/** What the steps of all containers of a pod are decided from. */
export interface StepContext {
  readonly pod: Pod;
  readonly nowMs: number;
  /** The sandbox that containers can join. */
  readonly sandbox: ObservedContainer | undefined;
  /** What was said of the pod last, here or in the API. */
  readonly previous: PodStatus | undefined;
  readonly health: Health;
  readonly backOff: BackOff;
  /** Not before this instant, after a failure that left no container: a pull, a missing secret, the engine. */
  notBefore(name: string): number | undefined;
  /** How a running container gets the size that it was given, when it has another one. Absent: all have theirs. */
  sizeChange?(container: Container, running: ObservedContainer): SizeChange | undefined;
}

/** What one container needs. */
export interface Step {
  readonly actions: readonly Action[];
  readonly wakeAt?: number;
}

/** What is said of a container that goes with its sandbox; why the sandbox goes is an event of its own. */
export const stopping = (name: string) => `Stopping container ${name}`;

/**
 * What a container needs that is to run now: its newest attempt decides, of the older ones the newest dead one is kept
 * for its log.
 */
export function containerStep(each: PodContainer, list: readonly ObservedContainer[], context: StepContext): Step {
  const [newest, ...older] = list;
  const name = each.container.name ?? '';
  const stale = older.slice(newest !== undefined && isAlive(newest) ? 1 : 0).map(removal);
  if (newest === undefined) return startStep(name, lostAttempts(context.previous, name), 0, context);
  if (isAlive(newest)) return after(stale, aliveStep(each, newest, context));
  if (newest.state === 'created') {
    const next = startStep(name, newest.attempt, newest.restartsInRow ?? 0, context);
    return after([...older.slice(1).map(removal), removal(newest)], next);
  }
  return after(older.map(removal), endedStep(each, newest, context));
}

function aliveStep(each: PodContainer, running: ObservedContainer, context: StepContext): Step {
  const { pod, sandbox } = context;
  // What an init container does is done once, with the spec that it began with.
  if (each.role !== 'init' && running.specHash !== specHash(each.container)) {
    const kind = each.role === 'main' ? 'Container' : 'Init container';
    return replace(running, `${kind} ${running.containerName} definition changed, will be restarted`, context);
  }
  if (!isIn(sandbox, running)) {
    const why = stopping(running.containerName);
    if (restartsOnFailure(pod, each)) return replace(running, why, context);
    return { actions: [{ type: 'stop-container', container: running, why }] };
  }
  const { failed } = context.health.of(running);
  return failed === undefined ? sizeStep(each, running, context) : stopFailed(each, running, failed, context);
}

function sizeStep({ role, container }: PodContainer, running: ObservedContainer, context: StepContext): Step {
  const change = role === 'init' ? undefined : context.sizeChange?.(container, running);
  if (change === undefined) return { actions: [] };
  if (change === 'update') return { actions: [{ type: 'update-container', container: running, to: container }] };
  return replace(running, `Container ${running.containerName} resize requires restart`, context);
}

function endedStep(each: PodContainer, ended: ObservedContainer, context: StepContext): Step {
  const { nowMs, pod } = context;
  const { containerName: name, attempt } = ended;
  if (ended.specHash !== specHash(each.container)) return startStep(name, attempt + 1, 0, context);
  // In another sandbox the pod begins anew: init containers that were done run again.
  const again = each.role === 'init' && ended.exitCode === 0;
  if (again) return startStep(name, attempt + 1, 0, context);
  if (!mayRestart(pod, each, ended.exitCode)) return { actions: [] };
  const restart = computeRestart(ended, nowMs, context.backOff);
  if (restart.notBefore > nowMs) return { actions: [], wakeAt: restart.notBefore };
  return startStep(name, attempt + 1, restart.restartsInRow, context);
}

/**
 * Stops a container that failed a probe or its postStart hook. After a failed probe it is restarted as soon as its
 * back-off allows, if its policy has any restarts. Otherwise its exit code decides, as after an end of its own.
 */
function stopFailed(each: PodContainer, running: ObservedContainer, failed: HealthFailure, context: StepContext): Step {
  const { probe, message, gracePeriodSeconds } = failed;
  const restarts = probe !== 'hook' && restartsOnFailure(context.pod, each);
  const stop: Action = {
    type: 'stop-container',
    container: running,
    why: restarts ? `${message}, will be restarted` : message,
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
  };
  const ended = { ...running, finishedAt: new Date(context.nowMs) };
  const { restartsInRow, delayMs } = computeRestart(ended, context.nowMs, context.backOff);
  if (!restarts || delayMs > 0) return { actions: [stop] };
  return after([stop], startStep(running.containerName, running.attempt + 1, restartsInRow, context));
}

function replace(running: ObservedContainer, why: string, context: StepContext): Step {
  const stop: Action = { type: 'stop-container', container: running, why };
  return after([stop], startStep(running.containerName, running.attempt + 1, 0, context));
}

function startStep(name: string, attempt: number, restartsInRow: number, { nowMs, notBefore }: StepContext): Step {
  const earliest = notBefore(name);
  if (earliest !== undefined && earliest > nowMs) return { actions: [], wakeAt: earliest };
  return { actions: [{ type: 'run-container', name, attempt, restartsInRow }] };
}

/**
 * What a container needs that runs once, beside whatever the pod does now. It waits for a sandbox and makes none;
 * whatever became of it, it does not start again.
 */
export function ephemeralStep(name: string, list: readonly ObservedContainer[], context: StepContext): Step {
  const { sandbox, previous } = context;
  const [newest] = list;
  if (newest !== undefined && newest.state !== 'created')
    return isIn(sandbox, newest) ? { actions: list.slice(1).map(removal) } : restStep(list);
  const ran = previous?.ephemeralContainerStatuses?.find((status) => status.name === name)?.containerID;
  if (sandbox === undefined || ran) return { actions: list.map(removal) };
  return after(list.map(removal), startStep(name, 0, 0, context));
}

/** What a container needs that is not to run now: the newest that ended stays for its log, what runs is stopped. */
export function restStep(list: readonly ObservedContainer[]): Step {
  const why = ({ containerName }: ObservedContainer) => stopping(containerName);
  const alive = list.filter(isAlive).map((container): Action => ({ type: 'stop-container', container, why: why(container) }));
  const dead = list.filter((container) => !isAlive(container));
  const kept = dead.find(hasEnded);
  return { actions: [...alive, ...dead.filter((container) => container !== kept).map(removal)] };
}

/** What the pod has no more: stopped and removed. */
export function discardStep(list: readonly ObservedContainer[]): Step {
  return { actions: [...restStep(list).actions.filter(({ type }) => type === 'stop-container'), ...list.map(removal)] };
}

export function removal(container: ObservedContainer): Action {
  return { type: 'remove-container', container };
}

function after(first: readonly Action[], step: Step): Step {
  return { ...step, actions: [...first, ...step.actions] };
}

/** The engine knows none, but the API may remember some (a machine whose containers were wiped): the count goes on. */
function lostAttempts(previous: PodStatus | undefined, name: string): number {
  const all = [...(previous?.initContainerStatuses ?? []), ...(previous?.containerStatuses ?? [])];
  const status = all.find((candidate) => candidate.name === name);
  return status?.containerID ? (status.restartCount ?? 0) + 1 : 0;
}
