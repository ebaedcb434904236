import type { FieldViolation } from '../../errors/api-error.ts';
import { duplicate, invalidSize, notSupported, required } from '../../errors/violations.ts';
import type { PodAddress, PodAddressPort, PodAddressSlice } from '../../generated/types.ts';
import { portNameError, subdomainNameError } from '../../meta/names.ts';
import { checkPort, checkRequired, checkRule, type Violations } from '../checks.ts';
import { validateLabels } from '../metadata.ts';
import { checkPlaceIp, PROTOCOLS } from '../service/validate-addresses.ts';

/** As in an EndpointSlice: a change of one pod writes so many at most. */
export const mostPodsInSlice = 100;
/** A pod rarely has ten. */
export const mostNamedPorts = 100;
/** One of each version. */
const MOST_ADDRESSES = 2;

export function validatePodAddressSlice({ namespaceLabels = {}, pods = [] }: PodAddressSlice): FieldViolation[] {
  const out: Violations = validateLabels('namespaceLabels', namespaceLabels);
  if (pods.length > mostPodsInSlice) return [...out, invalidSize('pods', mostPodsInSlice, 'pods')];
  const seen = new Set<string>();
  pods.forEach((pod, i) => {
    checkPodAddress(out, `pods[${i}]`, pod);
    if (pod.uid && seen.has(pod.uid)) out.push(duplicate(`pods[${i}].uid`, pod.uid));
    seen.add(pod.uid ?? '');
  });
  return out;
}

function checkPodAddress(out: Violations, at: string, pod: PodAddress): void {
  const { name = '', uid, labels = {}, podIPs = [], nodeName, ports = [] } = pod;
  if (name === '') out.push(required(`${at}.name`));
  else checkRule(out, at, '.name', name, subdomainNameError(name));
  checkRequired(out, at, '.uid', uid);
  if (!nodeName) out.push(required(`${at}.nodeName`));
  else checkRule(out, at, '.nodeName', nodeName, subdomainNameError(nodeName));
  out.push(...validateLabels(`${at}.labels`, labels));
  if (podIPs.length === 0) out.push(required(`${at}.podIPs`, 'a pod without an address is not listed'));
  if (podIPs.length > MOST_ADDRESSES) out.push(invalidSize(`${at}.podIPs`, MOST_ADDRESSES, 'addresses'));
  podIPs.forEach((ip, i) => {
    checkPlaceIp(out, `${at}.podIPs[${i}]`, ip);
  });
  if (ports.length > mostNamedPorts) out.push(invalidSize(`${at}.ports`, mostNamedPorts, 'ports'));
  else
    ports.forEach((port, i) => {
      checkNamedPort(out, `${at}.ports[${i}]`, port);
    });
}

function checkNamedPort(out: Violations, at: string, { name = '', protocol = '', containerPort = 0 }: PodAddressPort): void {
  checkRule(out, at, '.name', name, portNameError(name));
  if (!PROTOCOLS.includes(protocol)) out.push(notSupported(`${at}.protocol`, protocol, PROTOCOLS));
  checkPort(out, at, '.containerPort', containerPort);
}
