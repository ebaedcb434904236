import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden } from '../../errors/violations.ts';
import type { CSIStorageCapacity } from '../../generated/types.ts';
import { equalValues } from '../../meta/equal.ts';
import { subdomainNameError } from '../../meta/names.ts';
import { checkRequired, checkRule, type Violations } from '../checks.ts';
import { amountError } from '../quantities.ts';
import { checkLabelSelector } from '../selectors.ts';

/** Kubernetes' rules. */
export function validateCsiStorageCapacity(object: CSIStorageCapacity): FieldViolation[] {
  const out: Violations = [];
  const { nodeTopology, storageClassName = '', capacity, maximumVolumeSize } = object;
  checkLabelSelector(out, 'nodeTopology', nodeTopology);
  checkRequired(out, '', 'storageClassName', storageClassName);
  if (storageClassName) checkRule(out, '', 'storageClassName', storageClassName, subdomainNameError(storageClassName));
  if (capacity) checkRule(out, '', 'capacity', capacity.string, amountError(capacity));
  if (maximumVolumeSize) checkRule(out, '', 'maximumVolumeSize', maximumVolumeSize.string, amountError(maximumVolumeSize));
  return out;
}

export function validateCsiStorageCapacityUpdate(next: CSIStorageCapacity, previous: CSIStorageCapacity): FieldViolation[] {
  return (['nodeTopology', 'storageClassName'] as const)
    .filter((field) => !equalValues(next[field], previous[field]))
    .map((field) => forbidden(field, 'cannot change; make another object'));
}
