import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, required } from '../../errors/violations.ts';
import type { EndpointAddress, EndpointSubset, Endpoints } from '../../generated/types.ts';
import { labelNameError, qualifiedNameError, subdomainNameError } from '../../meta/names.ts';
import { checkOneOf, checkPort, checkRule, type Violations } from '../checks.ts';
import { checkPlaceIp, PROTOCOLS } from '../service/validate-addresses.ts';

export function defaultEndpoints({ subsets = [] }: Endpoints): void {
  for (const { ports = [] } of subsets) for (const port of ports) port.protocol ||= 'TCP';
}

/** Kubernetes' rules. */
export function validateEndpoints({ subsets = [] }: Endpoints): FieldViolation[] {
  const out: Violations = [];
  subsets.forEach((subset, i) => {
    checkSubset(out, `subsets[${i}]`, subset);
  });
  return out;
}

function checkSubset(out: Violations, at: string, { addresses = [], notReadyAddresses = [], ports = [] }: EndpointSubset): void {
  if (addresses.length + notReadyAddresses.length === 0) out.push(required(at, 'must have addresses or notReadyAddresses'));
  addresses.forEach((address, i) => {
    checkAddress(out, `${at}.addresses[${i}]`, address);
  });
  notReadyAddresses.forEach((address, i) => {
    checkAddress(out, `${at}.notReadyAddresses[${i}]`, address);
  });
  ports.forEach(({ name = '', port, protocol, appProtocol }, i) => {
    const here = `${at}.ports[${i}]`;
    if (name !== '') checkRule(out, here, '.name', name, labelNameError(name));
    else if (ports.length > 1) out.push(required(`${here}.name`, 'there are several ports'));
    checkPort(out, here, '.port', port ?? 0);
    checkOneOf(out, here, '.protocol', protocol, PROTOCOLS);
    if (appProtocol !== undefined) checkRule(out, here, '.appProtocol', appProtocol, qualifiedNameError(appProtocol));
  });
}

function checkAddress(out: Violations, at: string, { ip = '', hostname = '', nodeName }: EndpointAddress): void {
  if (ip === '') out.push(required(`${at}.ip`));
  else checkPlaceIp(out, `${at}.ip`, ip);
  if (hostname !== '') checkRule(out, at, '.hostname', hostname, labelNameError(hostname));
  if (nodeName !== undefined) checkRule(out, at, '.nodeName', nodeName, subdomainNameError(nodeName));
}

/** An address does not move from node to node: the node may be added, not replaced. */
export function validateEndpointsUpdate(next: Endpoints, previous: Endpoints): FieldViolation[] {
  const nodes = new Map<string, string>();
  for (const [, { ip = '', nodeName }] of addressesOf(previous)) if (nodeName) nodes.set(ip, nodeName);
  return addressesOf(next).flatMap(([at, { ip = '', nodeName }]) => {
    const before = nodes.get(ip);
    if (!nodeName || before === undefined || before === nodeName) return [];
    return [forbidden(`${at}.nodeName`, `cannot change for ${ip}, it is "${before}"`)];
  });
}

function addressesOf({ subsets = [] }: Endpoints): [at: string, address: EndpointAddress][] {
  return subsets.flatMap(({ addresses = [], notReadyAddresses = [] }, i) => [
    ...addresses.map((address, k): [string, EndpointAddress] => [`subsets[${i}].addresses[${k}]`, address]),
    ...notReadyAddresses.map((address, k): [string, EndpointAddress] => [`subsets[${i}].notReadyAddresses[${k}]`, address]),
  ]);
}
