import type { FieldViolation } from '../../errors/api-error.ts';
import type { ReplicationController } from '../../generated/types.ts';
import type { Violations } from '../checks.ts';
import { checkCounts, checkLabelsAndTemplate, checkReplicaCounts } from '../workload-checks.ts';

export function validateReplicationController({ spec = {} }: ReplicationController): FieldViolation[] {
  const out: Violations = [];
  checkCounts(out, 'spec', spec, ['replicas', 'minReadySeconds']);
  checkLabelsAndTemplate(out, spec, { kind: 'ReplicationController' });
  return out;
}

const COUNTS = ['replicas', 'fullyLabeledReplicas', 'readyReplicas', 'availableReplicas', 'observedGeneration'] as const;

export function validateReplicationControllerStatus({ status = {} }: ReplicationController): FieldViolation[] {
  const out: Violations = [];
  checkCounts(out, 'status', status, COUNTS);
  checkReplicaCounts(out, status, ['fullyLabeledReplicas']);
  return out;
}
