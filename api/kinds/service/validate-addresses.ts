import { duplicate, forbidden, invalidValue, required } from '../../errors/violations.ts';
import type { ServiceSpec } from '../../generated/types.ts';
import { ipVersion } from '../../meta/ip.ts';
import { checkOneOf, type Violations } from '../checks.ts';
import { isHeadless } from './defaults.ts';

/** What a port may speak, by Kubernetes' rules; of services, SCTP is refused by a rule of its own. */
export const PROTOCOLS = ['TCP', 'UDP', 'SCTP'];
const FAMILIES = ['IPv4', 'IPv6'];
const POLICIES = ['SingleStack', 'PreferDualStack', 'RequireDualStack'];
const ADDRESSES = ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy'] as const;

/** The addresses in the cluster and their families, as far as the client chooses them. */
export function checkAddresses(out: Violations, spec: ServiceSpec): void {
  if (spec.type === 'ExternalName') {
    for (const name of ADDRESSES)
      if (spec[name]?.length) out.push(forbidden(`spec.${name}`, 'may not be set when type is ExternalName'));
    return;
  }
  checkFamilies(out, spec);
  const { clusterIP = '', clusterIPs = [] } = spec;
  if (clusterIP === '' && clusterIPs.length > 0) out.push(required('spec.clusterIP', 'clusterIPs is set; both begin alike'));
  else if (clusterIPs.length > 0 && clusterIPs[0] !== clusterIP)
    out.push(invalidValue('spec.clusterIPs[0]', clusterIPs[0], `must be spec.clusterIP, which is "${clusterIP}"`));
  if (isHeadless(spec) && (spec.type === 'NodePort' || spec.type === 'LoadBalancer'))
    out.push(invalidValue('spec.clusterIP', 'None', `may not be "None" when type is ${spec.type}`));
  checkClusterIps(out, spec);
}

function checkFamilies(out: Violations, { ipFamilies = [], ipFamilyPolicy }: ServiceSpec): void {
  checkOneOf(out, 'spec', '.ipFamilyPolicy', ipFamilyPolicy, POLICIES);
  ipFamilies.forEach((family, i) => {
    checkOneOf(out, 'spec', `.ipFamilies[${i}]`, family || ' ', FAMILIES);
    if (ipFamilies.indexOf(family) < i) out.push(duplicate(`spec.ipFamilies[${i}]`, family));
  });
  if (ipFamilies.length > 1 && ipFamilyPolicy === 'SingleStack')
    out.push(invalidValue('spec.ipFamilyPolicy', ipFamilyPolicy, 'must be PreferDualStack or RequireDualStack for two families'));
}

function checkClusterIps(out: Violations, spec: ServiceSpec): void {
  const { clusterIPs = [], ipFamilies = [] } = spec;
  if (clusterIPs.length > 2) out.push(invalidValue('spec.clusterIPs', clusterIPs.join(), 'must have at most 2 addresses'));
  const seen = new Set<number>();
  clusterIPs.forEach((ip, i) => {
    const field = `spec.clusterIPs[${i}]`;
    if (ip === 'None') {
      if (clusterIPs.length > 1) out.push(invalidValue(field, ip, '"None" must be the only one'));
      return;
    }
    const version = ipVersion(ip);
    if (version === 0) out.push(invalidValue(field, ip, 'must be an IP address, or "None"'));
    else if (seen.has(version)) out.push(invalidValue(field, ip, 'must be of another IP family than the first one'));
    else if (ipFamilies[i] !== undefined && ipFamilies[i] !== `IPv${version}`)
      out.push(invalidValue(field, ip, `must be an ${ipFamilies[i]} address, as spec.ipFamilies[${i}] says`));
    seen.add(version);
  });
}

/** Ranges that mean something else on each machine. */
const SPECIAL: readonly (readonly [range: RegExp, what: string])[] = [
  [/^(0\.0\.0\.0|::|0:0:0:0:0:0:0:0)$/, 'must not be the unspecified address'],
  [/^(127\.|::1$|0:0:0:0:0:0:0:1$)/, 'must not be a loopback address'],
  [/^(169\.254\.|fe[89ab][0-9a-f]:)/i, 'must not be a link-local address'],
  [/^(224\.0\.0\.|ff02:)/i, 'must not be a link-local multicast address'],
];

/** An address that is the same place from everywhere: a node's, an endpoint's. */
export function checkPlaceIp(out: Violations, field: string, ip: string): void {
  const why = ipVersion(ip) === 0 ? 'must be an IP address' : SPECIAL.find(([range]) => range.test(ip))?.[1];
  if (why) out.push(invalidValue(field, ip, why));
}
