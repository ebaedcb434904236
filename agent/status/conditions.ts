import type { ContainerStatus, Pod, PodCondition } from '../../api/generated/types.ts';
import { findCondition, isConditionTrue } from '../../api/meta/conditions.ts';
import type { PhasePart } from './phase.ts';

export interface ConditionsInput {
  readonly pod: Pod;
  readonly phase: string;
  readonly parts: readonly PhasePart[];
  readonly sandboxReady: boolean;
  /** A container of the pod proper has begun since its sandbox is there. */
  readonly initialized: boolean;
  /** All containers are being restarted together. */
  readonly anew: boolean;
}

type Verdict = Pick<PodCondition, 'reason' | 'message'> & { readonly status: string };

const yes: Verdict = { status: 'True' };

/** The conditions that the agent answers for, in Kubernetes' order and words. Pure. */
export function computeConditions(input: ConditionsInput): PodCondition[] {
  const containersReady = containersReadiness(input);
  const all: PodCondition[] = [
    { type: 'PodReadyToStartContainers', status: input.sandboxReady ? 'True' : 'False' },
    { type: 'Initialized', ...initialization(input) },
    { type: 'ContainersReady', ...containersReady },
    { type: 'Ready', ...readiness(input.pod, containersReady) },
  ];
  return mayBeginAnew(input.pod) ? [...all, { type: 'AllContainersRestarting', ...restarting(input) }] : all;
}

function initialization({ phase, parts, initialized }: ConditionsInput): Verdict {
  if (phase === 'Succeeded') return { status: 'True', reason: 'PodCompleted' };
  if (initialized) return yes;
  const incomplete = namesOf(parts, ({ each, status }) =>
    each.role === 'init' ? status.ready !== true : each.role === 'sidecar' && status.started !== true,
  );
  if (incomplete.length === 0) return yes;
  return {
    status: 'False',
    reason: 'ContainersNotInitialized',
    message: `containers with incomplete status: [${incomplete.join(' ')}]`,
  };
}

/** Readiness ignores regular init containers and includes sidecars. */
function containersReadiness({ phase, parts }: ConditionsInput): Verdict {
  if (phase === 'Succeeded') return { status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { status: 'False', reason: 'PodFailed' };
  const unready = namesOf(parts, ({ each, status }) => each.role !== 'init' && status.ready !== true);
  if (unready.length === 0) return yes;
  return { status: 'False', reason: 'ContainersNotReady', message: `containers with unready status: [${unready.join(' ')}]` };
}

/** Ready when its containers are, and every readiness gate is true. */
function readiness(pod: Pod, containersReady: Verdict): Verdict {
  if (containersReady.status !== 'True') return containersReady;
  const unmet = (pod.spec?.readinessGates ?? []).flatMap(({ conditionType = '' }) => {
    if (isConditionTrue(pod.status?.conditions, conditionType)) return [];
    const condition = findCondition(pod.status?.conditions, conditionType);
    if (condition === undefined) return [`corresponding condition of pod readiness gate "${conditionType}" does not exist.`];
    return [`the status of pod readiness gate "${conditionType}" is not "True", but ${condition.status}`];
  });
  return unmet.length === 0 ? yes : { status: 'False', reason: 'ReadinessGatesNotReady', message: unmet.join(', ') };
}

function restarting({ phase, anew }: ConditionsInput): Verdict {
  if (phase === 'Succeeded') return { status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { status: 'False', reason: 'PodFailed' };
  if (!anew) return { status: 'False' };
  return { status: 'True', reason: 'RestartAllContainersStarted', message: 'container exited with restart policy rule' };
}

/** Whether some end of a container restarts all. */
function mayBeginAnew({ spec }: Pod): boolean {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].some((container) =>
    container.restartPolicyRules?.some(({ action }) => action === 'RestartAllContainers'),
  );
}

function namesOf(parts: readonly PhasePart[], wanted: (part: PhasePart) => boolean): string[] {
  return parts.filter(wanted).map(({ status }: { status: ContainerStatus }) => status.name ?? '');
}
