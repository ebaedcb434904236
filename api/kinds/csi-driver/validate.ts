import type { FieldViolation } from '../../errors/api-error.ts';
import { duplicate, forbidden, invalidValue } from '../../errors/violations.ts';
import type { CSIDriver } from '../../generated/types.ts';
import { equalValues } from '../../meta/equal.ts';
import { checkOneOf, checkRange, type Violations } from '../checks.ts';
import { checkDriverName } from '../csi-names.ts';

/** Kubernetes' rules. */
export function validateCsiDriver({ metadata, spec = {} }: CSIDriver): FieldViolation[] {
  const out: Violations = [];
  const { fsGroupPolicy, volumeLifecycleModes = [], tokenRequests = [], serviceAccountTokenInSecrets } = spec;
  checkDriverName(out, 'metadata', '.name', metadata?.name ?? '');
  checkOneOf(out, 'spec', '.fsGroupPolicy', fsGroupPolicy || ' ', ['File', 'None', 'ReadWriteOnceWithFSType']);
  volumeLifecycleModes.forEach((mode, i) => {
    checkOneOf(out, 'spec', `.volumeLifecycleModes[${i}]`, mode || ' ', ['Ephemeral', 'Persistent']);
    if (volumeLifecycleModes.indexOf(mode) < i) out.push(duplicate(`spec.volumeLifecycleModes[${i}]`, mode));
  });
  const audiences = new Set<string>();
  tokenRequests.forEach(({ audience = '', expirationSeconds }, i) => {
    if (audiences.has(audience)) out.push(duplicate(`spec.tokenRequests[${i}].audience`, audience));
    audiences.add(audience);
    checkRange(out, `spec.tokenRequests[${i}]`, '.expirationSeconds', expirationSeconds, 600, 2 ** 32);
  });
  if (serviceAccountTokenInSecrets !== undefined && tokenRequests.length === 0)
    out.push(
      invalidValue('spec.serviceAccountTokenInSecrets', serviceAccountTokenInSecrets, 'may only be set beside tokenRequests'),
    );
  checkRange(out, 'spec', '.nodeAllocatableUpdatePeriodSeconds', spec.nodeAllocatableUpdatePeriodSeconds, 10);
  return out;
}

export function validateCsiDriverUpdate({ spec: next = {} }: CSIDriver, { spec: previous = {} }: CSIDriver): FieldViolation[] {
  return (['attachRequired', 'volumeLifecycleModes'] as const)
    .filter((field) => !equalValues(next[field], previous[field]))
    .map((field) => forbidden(`spec.${field}`, 'cannot change; delete the driver and make it anew'));
}
