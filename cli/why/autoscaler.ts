import { metricTexts } from '../describe/horizontal-pod-autoscaler.ts';
import { list, type Tree, text, tree } from '../describe/json.ts';
import type { Progress, WhyObstacle } from './workload-facts.ts';

/** The kind that scales others. */
export const autoscaler = 'HorizontalPodAutoscaler';

/** Conditions without which it scales nothing. */
const needed: readonly string[] = ['AbleToScale', 'ScalingActive'];

/** Whether a HorizontalPodAutoscaler scales its target, and between which bounds. Pure. */
export function ofAutoscaler(object: Tree): Progress {
  const target = targetOf(object);
  const [current, desired] = ['currentReplicas', 'desiredReplicas'].map((name) => text(object, 'status', name) || '0');
  const bounds = `of ${text(object, 'spec', 'minReplicas') || '1'} to ${text(object, 'spec', 'maxReplicas')}`;
  // None is wanted while nothing was computed yet.
  const wanted = desired === '0' ? [] : [`${desired} wanted`];
  const counts = [`${current} replicas`, ...wanted, bounds].join(', ');
  if (list(object, 'status', 'conditions').length === 0) {
    const verdict = `has not been looked at by its controller, and does not scale ${target} yet`;
    return { complete: false, stuck: false, counts, verdict };
  }
  if (isAtRest(object)) return { complete: true, stuck: false, counts, verdict: `is at rest while ${target} is scaled to 0` };
  const complete = failing(object).length === 0;
  return { complete, stuck: false, counts, verdict: `${complete ? 'scales' : 'does not scale'} ${target}` };
}

/** What keeps it from scaling. Pure. */
export function autoscalerObstacles(object: Tree): WhyObstacle[] {
  if (isAtRest(object)) return [];
  return failing(object).map((condition) => ({
    what: `${text(condition, 'type')} is False, ${told(condition)}`,
    pods: [],
    details: [],
  }));
}

/** What it goes by, what holds its choice back, and where to look further. Pure. */
export function autoscalerNotes(object: Tree): string[] {
  const limited = conditions(object).filter(({ type, status }) => type === 'ScalingLimited' && status === 'True');
  const target = targetOf(object);
  return [
    ...metricTexts(object).map(({ name, values }) => `${name} (current / target): ${values}`),
    ...limited.map((condition) => `the number of replicas is limited, ${told(condition)}`),
    `"berth why ${target}" says how ${target} stands`,
  ];
}

function targetOf(object: Tree): string {
  const target = tree(object, 'spec', 'scaleTargetRef');
  return `${text(target, 'kind').toLowerCase()}/${text(target, 'name')}`;
}

const conditions = (object: Tree): Tree[] => list(object, 'status', 'conditions');

const failing = (object: Tree): Tree[] =>
  conditions(object).filter(({ type, status }) => needed.includes(String(type)) && status === 'False');

const isAtRest = (object: Tree): boolean => failing(object).some(({ reason }) => reason === 'ScalingDisabled');

const told = (condition: Tree): string => `${text(condition, 'reason')}: ${text(condition, 'message')}`;
