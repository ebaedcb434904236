import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, invalidValue, required } from '../../errors/violations.ts';
import type { ServiceCIDR } from '../../generated/types.ts';
import { equalValues } from '../../meta/equal.ts';
import { canonicalRange, ipVersion } from '../../meta/ip.ts';

/** Kubernetes' rules. */
export function validateServiceCidr({ spec: { cidrs = [] } = {} }: ServiceCIDR): FieldViolation[] {
  const at = 'spec.cidrs';
  if (cidrs.length === 0) return [required(at, 'at least one range')];
  if (cidrs.length > 2) return [invalidValue(at, cidrs.join(), 'must be one range, or one of IPv4 and one of IPv6')];
  const wrong = cidrs.flatMap((text, i) => {
    const canonical = canonicalRange(text);
    if (canonical === undefined)
      return [invalidValue(`${at}[${i}]`, text, 'must be a range such as "10.43.0.0/16" or "fd00::/64"')];
    return canonical === text ? [] : [invalidValue(`${at}[${i}]`, text, `must be written as "${canonical}"`)];
  });
  const [first = '', second] = cidrs.map((text) => ipVersion(text.split('/')[0] ?? ''));
  if (wrong.length === 0 && first === second) return [invalidValue(at, cidrs.join(), 'may have one range of each family only')];
  return wrong;
}

export function validateServiceCidrUpdate({ spec: next }: ServiceCIDR, { spec: previous }: ServiceCIDR): FieldViolation[] {
  return equalValues(next?.cidrs, previous?.cidrs) ? [] : [forbidden('spec.cidrs', 'cannot change; make another object')];
}
