import type { FieldViolation } from '../../errors/api-error.ts';
import { duplicate, invalidSize, invalidValue, required } from '../../errors/violations.ts';
import type { Endpoint, EndpointHints, EndpointPort, EndpointSlice } from '../../generated/types.ts';
import { ipVersion } from '../../meta/ip.ts';
import { labelNameError, labelValueError, qualifiedNameError, subdomainNameError } from '../../meta/names.ts';
import { checkOneOf, checkPort, checkRule, type Violations } from '../checks.ts';
import { validateLabels } from '../metadata.ts';
import { checkPlaceIp, PROTOCOLS } from '../service/validate-addresses.ts';

const ADDRESS_TYPES = ['IPv4', 'IPv6', 'FQDN'];
const MOST_ENDPOINTS = 1000;
const MOST_ADDRESSES = 100;
const MOST_PORTS = 20_000;
const MOST_TOPOLOGY = 16;
const MOST_HINTS = 8;

export function defaultEndpointSlice({ ports = [] }: EndpointSlice): void {
  for (const port of ports) {
    port.name ??= '';
    port.protocol ||= 'TCP';
  }
}

/** Kubernetes' rules. */
export function validateEndpointSlice({ addressType = '', endpoints = [], ports = [] }: EndpointSlice): FieldViolation[] {
  const out: Violations = [];
  if (addressType === '') out.push(required('addressType', `one of ${ADDRESS_TYPES.map((each) => `"${each}"`).join(', ')}`));
  checkOneOf(out, '', 'addressType', addressType, ADDRESS_TYPES);
  if (endpoints.length > MOST_ENDPOINTS) out.push(invalidSize('endpoints', MOST_ENDPOINTS, 'endpoints'));
  else
    endpoints.forEach((endpoint, i) => {
      checkEndpoint(out, `endpoints[${i}]`, endpoint, addressType);
    });
  checkPorts(out, ports);
  return out;
}

function checkEndpoint(out: Violations, at: string, endpoint: Endpoint, addressType: string): void {
  const { addresses = [], hostname, nodeName, zone, deprecatedTopology = {}, hints } = endpoint;
  if (addresses.length === 0) out.push(required(`${at}.addresses`, 'an endpoint has at least one'));
  if (addresses.length > MOST_ADDRESSES) out.push(invalidSize(`${at}.addresses`, MOST_ADDRESSES, 'addresses'));
  addresses.forEach((address, i) => {
    checkAddress(out, `${at}.addresses[${i}]`, address, addressType);
  });
  if (hostname !== undefined) checkRule(out, at, '.hostname', hostname, labelNameError(hostname));
  if (nodeName !== undefined) checkRule(out, at, '.nodeName', nodeName, subdomainNameError(nodeName));
  if (zone !== undefined) checkRule(out, at, '.zone', zone, labelValueError(zone));
  if (Object.keys(deprecatedTopology).length > MOST_TOPOLOGY)
    out.push(invalidSize(`${at}.deprecatedTopology`, MOST_TOPOLOGY, 'keys'));
  out.push(...validateLabels(`${at}.deprecatedTopology`, deprecatedTopology));
  if (hints) checkHints(out, `${at}.hints`, hints);
}

function checkAddress(out: Violations, at: string, address: string, type: string): void {
  if (type === 'FQDN') {
    const why = address.includes('.')
      ? subdomainNameError(address.replace(/\.$/, ''))
      : 'must have a dot, as in "db.example.com"';
    if (why !== undefined) out.push(invalidValue(at, address, why));
    return;
  }
  if (type !== 'IPv4' && type !== 'IPv6') return;
  if (`IPv${ipVersion(address)}` !== type) out.push(invalidValue(at, address, `must be an ${type} address, as addressType says`));
  else checkPlaceIp(out, at, address);
}

function checkHints(out: Violations, at: string, { forZones = [], forNodes = [] }: EndpointHints): void {
  const lists = [
    ['forZones', forZones, labelValueError],
    ['forNodes', forNodes, subdomainNameError],
  ] as const;
  for (const [list, items, rule] of lists) {
    if (items.length > MOST_HINTS) out.push(invalidSize(`${at}.${list}`, MOST_HINTS, 'names'));
    const seen = new Set<string>();
    items.forEach(({ name = '' }, i) => {
      const here = `${at}.${list}[${i}]`;
      if (name === '') out.push(required(`${here}.name`));
      else checkRule(out, here, '.name', name, rule(name));
      if (seen.has(name)) out.push(duplicate(`${here}.name`, name));
      seen.add(name);
    });
  }
}

function checkPorts(out: Violations, ports: readonly EndpointPort[]): void {
  if (ports.length > MOST_PORTS) {
    out.push(invalidSize('ports', MOST_PORTS, 'ports'));
    return;
  }
  const names = new Set<string>();
  ports.forEach(({ name = '', port, protocol, appProtocol }, i) => {
    const at = `ports[${i}]`;
    if (name !== '') checkRule(out, at, '.name', name, labelNameError(name));
    if (names.has(name)) out.push(duplicate(`${at}.name`, name));
    names.add(name);
    checkPort(out, at, '.port', port);
    checkOneOf(out, at, '.protocol', protocol, PROTOCOLS);
    if (appProtocol !== undefined) checkRule(out, at, '.appProtocol', appProtocol, qualifiedNameError(appProtocol));
  });
}

export function validateEndpointSliceUpdate(next: EndpointSlice, previous: EndpointSlice): FieldViolation[] {
  if (next.addressType === previous.addressType) return [];
  return [invalidValue('addressType', next.addressType, `cannot change, it is "${previous.addressType}"`)];
}
