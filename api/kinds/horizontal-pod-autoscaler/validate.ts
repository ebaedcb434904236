import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, invalidValue, required } from '../../errors/violations.ts';
import type {
  CrossVersionObjectReference,
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerSpec,
  HPAScalingRules,
} from '../../generated/types.ts';
import { checkOneOf, checkRange, checkRule, type Violations } from '../checks.ts';
import { groupOf } from '../identity.ts';
import { amountError } from '../quantities.ts';
import { checkReference } from './reference.ts';
import { checkMetric } from './validate-metrics.ts';

const WINDOW_MAX_SECONDS = 3_600;
const PERIOD_MAX_SECONDS = 1_800;

export function validateHorizontalPodAutoscaler({ spec = {} }: HorizontalPodAutoscaler): FieldViolation[] {
  const out: Violations = [];
  const { scaleTargetRef = {} } = spec;
  checkReference(out, 'spec.scaleTargetRef', scaleTargetRef);
  checkTargetGroup(out, scaleTargetRef);
  checkTargetScales(out, scaleTargetRef);
  checkReplicas(out, spec);
  spec.metrics?.forEach((metric, i) => {
    checkMetric(out, `spec.metrics[${i}]`, metric);
  });
  for (const direction of ['scaleUp', 'scaleDown'] as const) {
    const rules = spec.behavior?.[direction];
    if (rules) checkRules(out, `spec.behavior.${direction}`, rules);
  }
  return out;
}

/** Of the core group there is one kind that can be scaled. */
function checkTargetGroup(out: Violations, { kind, apiVersion = '' }: CrossVersionObjectReference): void {
  if (kind === 'ReplicationController' || apiVersion.includes('/')) return;
  out.push(invalidValue('spec.scaleTargetRef.apiVersion', apiVersion, 'must name the group of the kind, as in "apps/v1"'));
}

/** Groups whose kinds are all the server's own, and those of them that have a number of replicas. */
const scalableKinds: Readonly<Record<string, readonly string[]>> = {
  apps: ['Deployment', 'StatefulSet', 'ReplicaSet'],
  batch: [],
};

/** Kubernetes stores an autoscaler of a kind that cannot be scaled, and says so in its conditions for ever after. */
function checkTargetScales(out: Violations, { kind = '', apiVersion = '' }: CrossVersionObjectReference): void {
  const known = Object.hasOwn(scalableKinds, groupOf(apiVersion)) ? scalableKinds[groupOf(apiVersion)] : undefined;
  if (known === undefined || kind === '' || known.includes(kind)) return;
  const others = 'a Deployment, StatefulSet, ReplicaSet or ReplicationController has one';
  out.push(invalidValue('spec.scaleTargetRef.kind', kind, `has no number of replicas in ${apiVersion}: ${others}`));
}

function checkReplicas(out: Violations, { minReplicas, maxReplicas = 0, metrics = [] }: HorizontalPodAutoscalerSpec): void {
  checkRange(out, 'spec', '.minReplicas', minReplicas, 0);
  if (maxReplicas < 1) out.push(invalidValue('spec.maxReplicas', maxReplicas, 'must be at least 1'));
  else if (minReplicas !== undefined && maxReplicas < minReplicas)
    out.push(invalidValue('spec.maxReplicas', maxReplicas, `must not be less than minReplicas, which is ${minReplicas}`));
  if (minReplicas === 0 && !metrics.some(({ type }) => type === 'Object' || type === 'External'))
    out.push(forbidden('spec.metrics', 'minReplicas 0 needs an Object or External metric: without pods there are no others'));
}

function checkRules(out: Violations, at: string, rules: HPAScalingRules): void {
  checkRange(out, at, '.stabilizationWindowSeconds', rules.stabilizationWindowSeconds, 0, WINDOW_MAX_SECONDS);
  checkOneOf(out, at, '.selectPolicy', rules.selectPolicy, ['Max', 'Min', 'Disabled']);
  if (rules.tolerance) checkRule(out, at, '.tolerance', rules.tolerance.string, amountError(rules.tolerance));
  if (!rules.policies?.length) out.push(required(`${at}.policies`, 'at least one policy'));
  rules.policies?.forEach(({ type, value = 0, periodSeconds = 0 }, i) => {
    const policy = `${at}.policies[${i}]`;
    checkOneOf(out, policy, '.type', type || ' ', ['Pods', 'Percent']);
    checkRange(out, policy, '.value', value, 1);
    checkRange(out, policy, '.periodSeconds', periodSeconds, 1, PERIOD_MAX_SECONDS);
  });
}

export function validateHorizontalPodAutoscalerStatus({ status = {} }: HorizontalPodAutoscaler): FieldViolation[] {
  const out: Violations = [];
  for (const name of ['currentReplicas', 'desiredReplicas'] as const) checkRange(out, 'status', `.${name}`, status[name], 0);
  return out;
}
