import type { Container, Pod, PodStatus } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';
import { type BackOff, computeRestart } from './back-off.ts';
import type { SizeChange } from './container-size.ts';
import { containerStep, discardStep, ephemeralStep, removal, restStep, type Step, type StepContext } from './container-step.ts';
import type { Health } from './health.ts';
import { initSteps } from './init-step.ts';
import { allContainers, hasEnded, isAlive, isBare, isIn, type PodObservation, readySandbox } from './observation.ts';
import type { Action, Plan, StopInTurn } from './plan.ts';
import { ephemeralContainers, initContainers, mainContainers, type PodContainer, podContainers } from './pod-containers.ts';
import { mayRestart, restartsAll } from './restart-policy.ts';
import { specHash } from './spec-hash.ts';

export interface PlanOptions {
  /** The pod is to go, and how long its containers may take; where that is undefined, their labels say it. */
  readonly kill: { readonly gracePeriodSeconds: number | undefined } | undefined;
  /** It has ended for a reason of the agent's own (it was refused, its time is over), whatever the API says yet. */
  readonly finished: boolean;
  /** When its time is over. */
  readonly deadlineAt?: number | undefined;
  /** What was said of it last, here or in the API. */
  readonly previous: PodStatus | undefined;
  readonly health: Health;
  readonly backOff: BackOff;
  /** Not before this instant, after a failure that left no container: a pull, a missing secret, the engine. */
  notBefore(name: string): number | undefined;
  /** How a running container gets the size that it was given, when it has another one. Absent: all have theirs. */
  sizeChange?(container: Container, running: ObservedContainer): SizeChange | undefined;
}

/** Decides what to do about a pod. Pure: the same pod, observation and time give the same plan. */
export function computeActions(pod: Pod | undefined, observed: PodObservation, nowMs: number, options: PlanOptions): Plan {
  if (options.kill !== undefined || pod === undefined)
    return {
      type: 'kill',
      stop: stopInTurn(pod, allContainers(observed)),
      gracePeriodSeconds: options.kill?.gracePeriodSeconds ?? graceOf(observed),
    };
  if (options.finished || isFinished(pod) || isOver(pod, observed)) return finishPlan(pod, observed);
  const step = planSync(observed, { ...options, pod, nowMs, sandbox: readySandbox(observed) });
  const wakes = [step.wakeAt, options.deadlineAt].filter((at) => at !== undefined);
  return { type: 'sync', actions: step.actions, wakeAt: wakes.length === 0 ? undefined : Math.min(...wakes) };
}

/**
 * What runs in a sandbox that nothing can join is left alone until something is to start: then all of the pod moves to
 * another one.
 */
function planSync(observed: PodObservation, context: StepContext): Step {
  const step = syncStep(observed, context);
  const { pod, sandbox } = context;
  const mustMove = sandbox !== undefined && isBare(pod, sandbox) && step.actions.some(({ type }) => type === 'run-container');
  return mustMove ? syncStep(observed, { ...context, sandbox: undefined }) : step;
}

/** Of a pod that only the engine still knows. */
function graceOf(observed: PodObservation): number {
  return Math.max(0, ...[...allContainers(observed), ...observed.sandboxes].map((container) => container.gracePeriodSeconds));
}

/** The order in which running containers are stopped: sidecars after all others and in reverse order. */
export function stopInTurn(pod: Pod | undefined, containers: readonly ObservedContainer[]): StopInTurn[] {
  const sidecars = pod === undefined ? [] : initContainers(pod).filter(({ role }) => role === 'sidecar');
  const order = sidecars.reverse().map(({ container }) => container.name);
  return containers.filter(isAlive).map((container) => ({ container, turn: order.indexOf(container.containerName) + 1 }));
}

/** The sandbox ends after the containers that use it. */
function finishPlan(pod: Pod, observed: PodObservation): Plan {
  const running = stopInTurn(pod, allContainers(observed));
  const sandboxes = stopInTurn(pod, observed.sandboxes);
  const surplus = [...observed.containers.values()].flatMap((list) => list.slice(1).filter((container) => !isAlive(container)));
  return { type: 'finish', stop: running.length > 0 ? running : sandboxes, remove: surplus };
}

/**
 * Whether nothing of the pod will run again: its containers have ended for good, sidecars aside, or its initialization
 * has failed for good.
 */
export function isOver(pod: Pod, observed: PodObservation): boolean {
  if (beginsAnew(pod, observed) !== undefined) return false;
  const newest = (name: string | undefined) => observed.containers.get(name ?? '')?.[0];
  const failed = initContainers(pod).some((each) => {
    const ended = newest(each.container.name);
    return ended !== undefined && hasEnded(ended) && ended.exitCode !== 0 && !mayRestart(pod, each, ended.exitCode);
  });
  if (failed) return true;
  return mainContainers(pod).every((each) => {
    const ended = newest(each.container.name);
    if (ended === undefined || !hasEnded(ended)) return false;
    return !mayRestart(pod, each, ended.exitCode) && ended.specHash === specHash(each.container);
  });
}

/** The container whose exit triggers RestartAllContainers. */
export function beginsAnew(pod: Pod, observed: PodObservation): ObservedContainer | undefined {
  for (const { container } of podContainers(pod)) {
    if ((container.restartPolicyRules?.length ?? 0) === 0) continue;
    const newest = observed.containers.get(container.name ?? '')?.[0];
    if (newest !== undefined && hasEnded(newest) && restartsAll(container, newest.exitCode)) return newest;
  }
  return undefined;
}

function syncStep(observed: PodObservation, context: StepContext): Step {
  const trigger = beginsAnew(context.pod, observed);
  if (trigger !== undefined) return anewStep(observed, trigger, context);
  const known = new Set(podContainers(context.pod).map(({ container }) => container.name ?? ''));
  const unknown = [...observed.containers].filter(([name]) => !known.has(name));
  const ephemeral = ephemeralContainers(context.pod).map(({ container: { name = '' } }) =>
    ephemeralStep(name, observed.containers.get(name) ?? [], context),
  );
  const steps = [...unknown.map(([, list]) => discardStep(list)), ...ownSteps(observed, context), ...ephemeral];
  return withSandbox(joined(steps), observed, context);
}

/**
 * One stage after the other, the container that asked for it last, so that an agent that starts again goes on. There is
 * no grace period. With all containers gone only the count of restarts tells how often it happened, so that is what the
 * back-off goes by.
 */
function anewStep(observed: PodObservation, trigger: ObservedContainer, { nowMs, backOff }: StepContext): Step {
  const others = allContainers(observed).filter((container) => container !== trigger);
  const alive = others.filter(isAlive);
  const why = `Container ${trigger.containerName} exited with ${trigger.exitCode}, all containers will be restarted`;
  if (alive.length > 0)
    return { actions: alive.map((container) => ({ type: 'stop-container', container, why, gracePeriodSeconds: 0 })) };
  if (others.length > 0) return { actions: others.map(removal) };
  const { notBefore } = computeRestart({ ...trigger, restartsInRow: trigger.attempt }, nowMs, backOff);
  return notBefore > nowMs ? { actions: [], wakeAt: notBefore } : { actions: [removal(trigger)] };
}

function ownSteps(observed: PodObservation, context: StepContext): Step[] {
  const { pod, sandbox } = context;
  const listOf = (name: string | undefined) => observed.containers.get(name ?? '') ?? [];
  const hasInit = initContainers(pod).length > 0;
  // What initializes anew begins when all that is left of the time before has ended.
  const left = hasInit ? allContainers(observed).filter((container) => isAlive(container) && !isIn(sandbox, container)) : [];
  const own = [...initContainers(pod), ...mainContainers(pod)];
  if (left.length > 0) return own.map(({ container }) => restStep(listOf(container.name)));
  const { steps, initialized } = initSteps(observed, context);
  const main = mainContainers(pod).map((each): [PodContainer, Step] => {
    const list = listOf(each.container.name);
    return [each, initialized ? containerStep(each, list, context) : restStep(list)];
  });
  return [...steps, ...afterHooks(main, observed, context)];
}

/**
 * As in Kubernetes, which starts containers one by one: those behind one whose postStart hook is to run or runs wait
 * for its end.
 */
function afterHooks(
  steps: readonly (readonly [PodContainer, Step])[],
  observed: PodObservation,
  { health }: StepContext,
): Step[] {
  let waits = false;
  return steps.map(([{ container }, step]) => {
    const actions = waits ? step.actions.filter(({ type }) => type !== 'run-container') : step.actions;
    const newest = observed.containers.get(container.name ?? '')?.[0];
    const runs = newest !== undefined && isAlive(newest) && health.of(newest).starting === true;
    const begins = container.lifecycle?.postStart !== undefined && actions.some(({ type }) => type === 'run-container');
    waits ||= runs || begins;
    return { ...step, actions };
  });
}

function joined(steps: readonly Step[]): Step {
  const wakes = steps.map(({ wakeAt }) => wakeAt).filter((at) => at !== undefined);
  const actions = steps.flatMap((step) => step.actions);
  return wakes.length === 0 ? { actions } : { actions, wakeAt: Math.min(...wakes) };
}

/** Whatever is to start needs a sandbox that runs; those that ended are of no use then. */
function withSandbox(step: Step, observed: PodObservation, { sandbox, nowMs, notBefore }: StepContext): Step {
  const { actions, wakeAt } = step;
  if (!actions.some((action) => action.type === 'run-container')) return step;
  const useless = observed.sandboxes.filter((other) => other !== sandbox).map(removal);
  if (sandbox !== undefined) return { ...step, actions: [...actions, ...useless] };
  const earliest = notBefore('');
  if (earliest !== undefined && earliest > nowMs)
    return {
      actions: actions.filter((action) => action.type !== 'run-container'),
      wakeAt: Math.min(earliest, wakeAt ?? earliest),
    };
  const run: Action = { type: 'run-sandbox', attempt: (observed.sandboxes[0]?.attempt ?? -1) + 1 };
  return { ...step, actions: [...actions, run, ...useless] };
}
