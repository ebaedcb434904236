import type { FieldViolation } from '../../errors/api-error.ts';
import type { ReplicaSet } from '../../generated/types.ts';
import type { Violations } from '../checks.ts';
import { checkCounts, checkReplicaCounts, checkSelectorAndTemplate, checkSelectorUnchanged } from '../workload-checks.ts';

export function validateReplicaSet({ spec = {} }: ReplicaSet): FieldViolation[] {
  const out: Violations = [];
  checkCounts(out, 'spec', spec, ['replicas', 'minReadySeconds']);
  checkSelectorAndTemplate(out, spec, { kind: 'ReplicaSet' });
  return out;
}

export function validateReplicaSetUpdate(next: ReplicaSet, previous: ReplicaSet): FieldViolation[] {
  const out: Violations = [];
  checkSelectorUnchanged(out, next.spec, previous.spec);
  return out;
}

const COUNTS = [
  'replicas',
  'fullyLabeledReplicas',
  'readyReplicas',
  'availableReplicas',
  'terminatingReplicas',
  'observedGeneration',
] as const;

export function validateReplicaSetStatus({ status = {} }: ReplicaSet): FieldViolation[] {
  const out: Violations = [];
  checkCounts(out, 'status', status, COUNTS);
  checkReplicaCounts(out, status, ['fullyLabeledReplicas']);
  return out;
}
