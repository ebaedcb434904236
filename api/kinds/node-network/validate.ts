import type { FieldViolation } from '../../errors/api-error.ts';
import { invalidValue } from '../../errors/violations.ts';
import type { NodeNetwork } from '../../generated/types.ts';
import { ipVersion, isAddressRange } from '../../meta/ip.ts';

export function validateNodeNetwork({ addresses = [], podCIDRs = [] }: NodeNetwork): FieldViolation[] {
  return [
    ...addresses.flatMap((each, i) =>
      ipVersion(each) === 0 ? [invalidValue(`addresses[${i}]`, each, 'must be an IP address such as "10.0.0.7"')] : [],
    ),
    ...podCIDRs.flatMap((each, i) =>
      isAddressRange(each) ? [] : [invalidValue(`podCIDRs[${i}]`, each, 'must be an address range such as "10.42.1.0/24"')],
    ),
  ];
}
