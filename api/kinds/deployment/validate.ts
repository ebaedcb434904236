import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, invalidValue, notSupported, required } from '../../errors/violations.ts';
import type { Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment } from '../../generated/types.ts';
import type { Violations } from '../checks.ts';
import { checkIntOrPercent, isNothing } from '../int-or-percent.ts';
import {
  checkCollisionCount,
  checkCounts,
  checkReplicaCounts,
  checkSelectorAndTemplate,
  checkSelectorUnchanged,
} from '../workload-checks.ts';

export function validateDeployment({ spec = {} }: Deployment): FieldViolation[] {
  const out: Violations = [];
  checkCounts(out, 'spec', spec, ['replicas', 'minReadySeconds', 'revisionHistoryLimit', 'progressDeadlineSeconds']);
  checkSelectorAndTemplate(out, spec, { kind: 'Deployment', keeper: 'ReplicaSet' });
  checkStrategy(out, spec.strategy ?? {});
  checkDeadline(out, spec);
  return out;
}

const STRATEGIES = ['Recreate', 'RollingUpdate'];

function checkStrategy(out: Violations, { type, rollingUpdate }: DeploymentStrategy): void {
  if (!STRATEGIES.includes(type ?? '')) out.push(notSupported('spec.strategy.type', type, STRATEGIES));
  else if (type === 'Recreate') {
    if (rollingUpdate)
      out.push(forbidden('spec.strategy.rollingUpdate', "may not be specified when strategy `type` is 'Recreate'"));
  } else if (!rollingUpdate) out.push(required('spec.strategy.rollingUpdate'));
  else checkRollingUpdate(out, 'spec.strategy.rollingUpdate', rollingUpdate);
}

/** A step without pods that are missing and without pods that are too many is none. */
function checkRollingUpdate(out: Violations, at: string, { maxUnavailable, maxSurge }: RollingUpdateDeployment): void {
  checkIntOrPercent(out, `${at}.maxUnavailable`, maxUnavailable);
  checkIntOrPercent(out, `${at}.maxSurge`, maxSurge, { exceedsWhole: true });
  if (isNothing(maxUnavailable) && isNothing(maxSurge))
    out.push(invalidValue(`${at}.maxUnavailable`, 0, 'may not be 0 when `maxSurge` is 0'));
}

/** A pod that is not available yet must not count as stuck. */
function checkDeadline(out: Violations, { progressDeadlineSeconds, minReadySeconds = 0 }: DeploymentSpec): void {
  if (progressDeadlineSeconds === undefined || progressDeadlineSeconds > minReadySeconds) return;
  out.push(invalidValue('spec.progressDeadlineSeconds', progressDeadlineSeconds, 'must be greater than minReadySeconds'));
}

export function validateDeploymentUpdate(next: Deployment, previous: Deployment): FieldViolation[] {
  const out: Violations = [];
  checkSelectorUnchanged(out, next.spec, previous.spec);
  return out;
}

const COUNTS = [
  'observedGeneration',
  'replicas',
  'updatedReplicas',
  'readyReplicas',
  'availableReplicas',
  'unavailableReplicas',
  'terminatingReplicas',
  'collisionCount',
] as const;

export function validateDeploymentStatus({ status = {} }: Deployment, previous: Deployment): FieldViolation[] {
  const out: Violations = [];
  checkCounts(out, 'status', status, COUNTS);
  checkReplicaCounts(out, status, ['updatedReplicas']);
  checkCollisionCount(out, status, previous.status);
  return out;
}
