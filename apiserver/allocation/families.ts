import type { FieldViolation } from '../../api/errors/index.ts';
import { invalidValue } from '../../api/errors/violations.ts';
import type { ServiceSpec } from '../../api/generated/types.ts';
import { isHeadless } from '../../api/kinds/service/defaults.ts';

const [V4, V6] = ['IPv4', 'IPv6'];

/**
 * Kubernetes' rules for a cluster whose addresses are all IPv4: fills in the families and their policy, in place, and
 * refuses what needs the other family. Names without pods of their own (headless, no selector) may have both.
 */
export function completeFamilies(spec: ServiceSpec): FieldViolation[] {
  if (spec.type === 'ExternalName') return [];
  if (isHeadless(spec) && Object.keys(spec.selector ?? {}).length === 0) {
    spec.ipFamilyPolicy ||= 'RequireDualStack';
    const [first = V4] = spec.ipFamilies ?? [];
    if (spec.ipFamilyPolicy === 'SingleStack') spec.ipFamilies = [first];
    else spec.ipFamilies = [first, first === V4 ? V6 : V4];
    return [];
  }
  const violations: FieldViolation[] = [];
  spec.ipFamilies?.forEach((family, i) => {
    if (family !== V4) violations.push(invalidValue(`spec.ipFamilies[${i}]`, family, 'this cluster has IPv4 addresses only'));
  });
  if (spec.ipFamilyPolicy === 'RequireDualStack') {
    const why = 'this cluster has IPv4 addresses only: use SingleStack or PreferDualStack';
    violations.push(invalidValue('spec.ipFamilyPolicy', spec.ipFamilyPolicy, why));
  }
  if (violations.length > 0) return violations;
  spec.ipFamilyPolicy ||= 'SingleStack';
  if (!spec.ipFamilies?.length) spec.ipFamilies = [V4];
  return [];
}
