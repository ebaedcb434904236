import type { FieldViolation } from '../../errors/api-error.ts';
import { invalidValue } from '../../errors/violations.ts';
import type { NodeNetwork } from '../../generated/types.ts';
import { ipVersion, isAddressRange } from '../../meta/ip.ts';
import { subdomainNameError } from '../../meta/names.ts';

export function validateNodeNetwork(network: NodeNetwork): FieldViolation[] {
  const { addresses = [], clusterDomain = '' } = network;
  const domainError = clusterDomain === '' ? undefined : subdomainNameError(clusterDomain);
  return [
    ...addresses.flatMap((each, i) =>
      ipVersion(each) === 0 ? [invalidValue(`addresses[${i}]`, each, 'must be an IP address such as "10.0.0.7"')] : [],
    ),
    ...(['podCIDRs', 'clusterCIDRs', 'serviceCIDRs'] as const).flatMap((field) =>
      (network[field] ?? []).flatMap((each, i) =>
        isAddressRange(each) ? [] : [invalidValue(`${field}[${i}]`, each, 'must be an address range such as "10.42.1.0/24"')],
      ),
    ),
    ...(domainError === undefined ? [] : [invalidValue('clusterDomain', clusterDomain, domainError)]),
  ];
}
