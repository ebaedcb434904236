import type { Container, Pod } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';
import { computeRestart } from './back-off.ts';
import { allContainers, hasEnded, isAlive, type PodObservation, readySandbox } from './observation.ts';
import { specHash } from './spec-hash.ts';

/** One thing to do. `why` is for the event that people read. */
export type Action =
  | { readonly type: 'stop-container'; readonly container: ObservedContainer; readonly why: string }
  | { readonly type: 'remove-container'; readonly container: ObservedContainer }
  | { readonly type: 'run-sandbox'; readonly attempt: number }
  | { readonly type: 'run-container'; readonly name: string; readonly attempt: number; readonly restartsInRow: number };

/**
 * What a pod needs now.
 *
 * - `sync`: walk the actions: stops first, all at once; then removals beside sandbox and containers. Look again at `wakeAt`.
 * - `finish`: the pod has ended; its containers stay for their logs, everything that runs is stopped, the surplus is removed.
 * - `kill`: the pod goes: stop every container at once with the grace period, then the sandbox, remove all, volumes, the API object.
 */
export type Plan =
  | { readonly type: 'sync'; readonly actions: readonly Action[]; readonly wakeAt: number | undefined }
  | { readonly type: 'finish'; readonly stop: readonly ObservedContainer[]; readonly remove: readonly ObservedContainer[] }
  | {
      readonly type: 'kill';
      readonly containers: readonly ObservedContainer[];
      readonly sandboxes: readonly ObservedContainer[];
      readonly gracePeriodSeconds: number;
    };

export interface PlanOptions {
  /** The pod is to go, and how long its containers may take. Set once and never taken back. */
  readonly kill: { readonly gracePeriodSeconds: number } | undefined;
  /** It has ended for a reason of the agent's own (it was refused), whatever the API says yet. */
  readonly finished: boolean;
  /** Not before this instant, after a failure that left no container: a pull, a missing secret, the engine. */
  notBefore(name: string): number | undefined;
}

/** Decides what to do about a pod. Pure: the same pod, observation and time give the same plan. */
export function computeActions(pod: Pod | undefined, observed: PodObservation, nowMs: number, options: PlanOptions): Plan {
  if (options.kill !== undefined || pod === undefined)
    return killPlan(observed, options.kill?.gracePeriodSeconds ?? graceOf(observed));
  if (options.finished || isFinished(pod) || allDone(pod, observed)) return finishPlan(observed);
  return syncPlan(pod, observed, nowMs, options);
}

function killPlan(observed: PodObservation, gracePeriodSeconds: number): Plan {
  return { type: 'kill', containers: allContainers(observed), sandboxes: observed.sandboxes, gracePeriodSeconds };
}

/** Of a pod that only the engine still knows. */
function graceOf(observed: PodObservation): number {
  return Math.max(0, ...[...allContainers(observed), ...observed.sandboxes].map((container) => container.gracePeriodSeconds));
}

function finishPlan(observed: PodObservation): Plan {
  const running = [...allContainers(observed), ...observed.sandboxes].filter(isAlive);
  return { type: 'finish', stop: running, remove: surplus(observed) };
}

/** All but the newest of each container. */
function surplus(observed: PodObservation): ObservedContainer[] {
  return [...observed.containers.values()].flatMap((list) => list.slice(1).filter((container) => !isAlive(container)));
}

function allDone(pod: Pod, observed: PodObservation): boolean {
  const containers = pod.spec?.containers ?? [];
  return containers.every((container) => {
    const newest = observed.containers.get(container.name ?? '')?.[0];
    return newest !== undefined && hasEnded(newest) && !mayRestart(pod, newest) && newest.specHash === specHash(container);
  });
}

/** Whether the pod's restart policy wants a container again that ended like this. */
export function mayRestart(pod: Pod, ended: Pick<ObservedContainer, 'exitCode'>): boolean {
  const policy = pod.spec?.restartPolicy ?? 'Always';
  if (policy === 'Always') return true;
  return policy === 'OnFailure' && ended.exitCode !== 0;
}

function syncPlan(pod: Pod, observed: PodObservation, nowMs: number, options: PlanOptions): Plan {
  const actions: Action[] = [];
  const wake: number[] = [];
  const sandbox = readySandbox(observed);
  const known = new Set((pod.spec?.containers ?? []).map((container) => container.name ?? ''));
  for (const [name, list] of observed.containers) if (!known.has(name)) actions.push(...discard(list, 'is no longer in the pod'));
  for (const container of pod.spec?.containers ?? []) {
    const list = observed.containers.get(container.name ?? '') ?? [];
    const step = containerStep(pod, container, list, { nowMs, sandboxReady: sandbox !== undefined, options });
    actions.push(...step.actions);
    if (step.wakeAt !== undefined) wake.push(step.wakeAt);
  }
  const starts = actions.some((action) => action.type === 'run-container');
  if (sandbox === undefined && starts) {
    const notBefore = options.notBefore('');
    if (notBefore !== undefined && notBefore > nowMs)
      return syncOf(
        actions.filter((action) => !isStart(action)),
        [...wake, notBefore],
      );
    actions.push({ type: 'run-sandbox', attempt: (observed.sandboxes[0]?.attempt ?? -1) + 1 });
  }
  if (starts) actions.push(...observed.sandboxes.filter((other) => other !== sandbox).map(removal));
  return syncOf(actions, wake);
}

function syncOf(actions: readonly Action[], wake: readonly number[]): Plan {
  return { type: 'sync', actions, wakeAt: wake.length === 0 ? undefined : Math.min(...wake) };
}

function isStart(action: Action): boolean {
  return action.type === 'run-container' || action.type === 'run-sandbox';
}

function removal(container: ObservedContainer): Action {
  return { type: 'remove-container', container };
}

function discard(list: readonly ObservedContainer[], why: string): Action[] {
  return list.flatMap((container): Action[] => [
    ...(isAlive(container) ? [{ type: 'stop-container', container, why } as const] : []),
    removal(container),
  ]);
}

interface StepContext {
  readonly nowMs: number;
  readonly sandboxReady: boolean;
  readonly options: PlanOptions;
}

interface Step {
  readonly actions: Action[];
  readonly wakeAt?: number;
}

/** What one container needs: its newest attempt decides, of the older ones the newest dead one is kept for its log. */
function containerStep(pod: Pod, container: Container, list: readonly ObservedContainer[], context: StepContext): Step {
  const name = container.name ?? '';
  const [newest, ...older] = list;
  const stale = older.slice(newest !== undefined && isAlive(newest) ? 1 : 0).map(removal);
  if (newest === undefined) return start(name, lostAttempts(pod, name), 0, context);
  const changed = newest.specHash !== specHash(container);
  if (isAlive(newest)) {
    if (changed) return replace(newest, stale, `Container ${name} definition changed, will be restarted`, context);
    if (context.sandboxReady) return { actions: stale };
    const why = 'Pod sandbox changed, it will be killed and re-created.';
    if (mayRestart(pod, { exitCode: killedBySignal })) return replace(newest, stale, why, context);
    return { actions: [...stale, { type: 'stop-container', container: newest, why }] };
  }
  if (newest.state === 'created') {
    const next = start(name, newest.attempt, newest.restartsInRow ?? 0, context);
    return { ...next, actions: [...older.slice(1).map(removal), removal(newest), ...next.actions] };
  }
  if (changed) return withStale(start(name, newest.attempt + 1, 0, context), older.map(removal));
  if (!mayRestart(pod, newest)) return { actions: older.map(removal) };
  const restart = computeRestart(newest, context.nowMs);
  if (restart.notBefore > context.nowMs) return { actions: older.map(removal), wakeAt: restart.notBefore };
  return withStale(start(name, newest.attempt + 1, restart.restartsInRow, context), older.map(removal));
}

const killedBySignal = 137;

function withStale(step: Step, stale: Action[]): Step {
  return { ...step, actions: [...stale, ...step.actions] };
}

function replace(running: ObservedContainer, stale: Action[], why: string, context: StepContext): Step {
  const next = start(running.containerName, running.attempt + 1, 0, context);
  return { ...next, actions: [...stale, { type: 'stop-container', container: running, why }, ...next.actions] };
}

function start(name: string, attempt: number, restartsInRow: number, { nowMs, options }: StepContext): Step {
  const notBefore = options.notBefore(name);
  if (notBefore !== undefined && notBefore > nowMs) return { actions: [], wakeAt: notBefore };
  return { actions: [{ type: 'run-container', name, attempt, restartsInRow }] };
}

/** The engine knows none, but the API may remember some (a machine whose containers were wiped): the count goes on. */
function lostAttempts(pod: Pod, name: string): number {
  const status = pod.status?.containerStatuses?.find((candidate) => candidate.name === name);
  return status?.containerID ? (status.restartCount ?? 0) + 1 : 0;
}
