import type { FieldViolation } from '../../errors/api-error.ts';
import { duplicate, forbidden, invalidValue, notSupported, required } from '../../errors/violations.ts';
import type { Service, ServicePort, ServiceSpec } from '../../generated/types.ts';
import { isAddressRange } from '../../meta/ip.ts';
import { labelNameError, portNameError, qualifiedNameError, subdomainNameError } from '../../meta/names.ts';
import { checkIp, checkOneOf, checkPort, checkRange, checkRule, type Violations } from '../checks.ts';
import { validateLabels } from '../metadata.ts';
import { isHeadless, isReachedFromOutside, needsHealthCheck } from './defaults.ts';
import { checkAddresses, checkPlaceIp, PROTOCOLS } from './validate-addresses.ts';

const TYPES = ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'];
const POLICIES = ['Cluster', 'Local'];
const DISTRIBUTIONS = ['PreferClose', 'PreferSameZone', 'PreferSameNode'];
const AFFINITY_MAX_SECONDS = 86_400;

/** Kubernetes' rules, but for those of what the server allocates (apiserver/registry/service-claims.ts). */
export function validateService({ spec = {} }: Service): FieldViolation[] {
  const out: Violations = [];
  checkOneOf(out, 'spec', '.type', spec.type, TYPES);
  if (spec.type === 'ExternalName') checkExternalName(out, spec);
  checkAllPorts(out, spec);
  if (spec.selector) out.push(...validateLabels('spec.selector', spec.selector));
  checkAffinity(out, spec);
  checkAddresses(out, spec);
  spec.externalIPs?.forEach((ip, i) => {
    checkPlaceIp(out, `spec.externalIPs[${i}]`, ip);
  });
  checkLoadBalancer(out, spec);
  checkTraffic(out, spec);
  return out;
}

/** What it stands for may end with a dot. */
function checkExternalName(out: Violations, { externalName = '' }: ServiceSpec): void {
  const name = externalName.replace(/\.$/, '');
  if (name === '') out.push(required('spec.externalName', 'the type is ExternalName'));
  else checkRule(out, 'spec', '.externalName', externalName, subdomainNameError(name));
}

function checkAllPorts(out: Violations, spec: ServiceSpec): void {
  const { ports = [] } = spec;
  if (ports.length === 0 && spec.type !== 'ExternalName' && !isHeadless(spec))
    out.push(required('spec.ports', 'only services of type ExternalName or with clusterIP "None" have no ports'));
  const [names, numbers, nodePorts] = [new Set<string>(), new Set<string>(), new Set<string>()];
  ports.forEach((port, i) => {
    const at = `spec.ports[${i}]`;
    const { name = '', protocol = '', nodePort = 0 } = port;
    if (name === '' && ports.length > 1) out.push(required(`${at}.name`, 'there are several ports'));
    if (name !== '') checkRule(out, at, '.name', name, labelNameError(name));
    checkOnce(out, `${at}.name`, name, name, names);
    checkServicePort(out, at, port);
    checkOnce(out, at, `${protocol}/${port.port ?? 0}`, `${protocol}/${port.port ?? 0}`, numbers);
    if (nodePort === 0) return;
    checkPort(out, at, '.nodePort', nodePort);
    checkOnce(out, `${at}.nodePort`, `${protocol}/${nodePort}`, nodePort, nodePorts);
    if (spec.type === 'ClusterIP' || spec.type === 'ExternalName')
      out.push(forbidden(`${at}.nodePort`, `may not be used when type is ${spec.type}`));
  });
}

function checkOnce(out: Violations, field: string, key: string, value: unknown, seen: Set<string>): void {
  if (key !== '' && seen.has(key)) out.push(duplicate(field, value));
  seen.add(key);
}

function checkServicePort(out: Violations, at: string, { port, protocol, targetPort, appProtocol }: ServicePort): void {
  checkPort(out, at, '.port', port ?? 0);
  checkOneOf(out, at, '.protocol', protocol, PROTOCOLS);
  if (targetPort?.type === 1) checkRule(out, at, '.targetPort', targetPort.strVal, portNameError(targetPort.strVal ?? ''));
  else if (targetPort) checkPort(out, at, '.targetPort', targetPort.intVal ?? 0);
  if (appProtocol !== undefined) checkRule(out, at, '.appProtocol', appProtocol, qualifiedNameError(appProtocol));
}

function checkAffinity(out: Violations, { sessionAffinity, sessionAffinityConfig }: ServiceSpec): void {
  checkOneOf(out, 'spec', '.sessionAffinity', sessionAffinity, ['ClientIP', 'None']);
  if (sessionAffinity === 'None' && sessionAffinityConfig)
    out.push(forbidden('spec.sessionAffinityConfig', 'must not be set when sessionAffinity is None'));
  const seconds = sessionAffinityConfig?.clientIP?.timeoutSeconds;
  checkRange(out, 'spec', '.sessionAffinityConfig.clientIP.timeoutSeconds', seconds, 1, AFFINITY_MAX_SECONDS);
}

function checkLoadBalancer(out: Violations, spec: ServiceSpec): void {
  const isBalanced = spec.type === 'LoadBalancer';
  for (const name of ['loadBalancerSourceRanges', 'allocateLoadBalancerNodePorts', 'loadBalancerClass'] as const) {
    const value = spec[name];
    const isSet = Array.isArray(value) ? value.length > 0 : value !== undefined;
    if (isSet && !isBalanced) out.push(forbidden(`spec.${name}`, 'may only be used when type is LoadBalancer'));
  }
  spec.loadBalancerSourceRanges?.forEach((range, i) => {
    if (!isAddressRange(range.trim()))
      out.push(invalidValue(`spec.loadBalancerSourceRanges[${i}]`, range, 'must be an address range such as "10.9.8.0/24"'));
  });
  const { loadBalancerClass } = spec;
  if (loadBalancerClass !== undefined)
    checkRule(out, 'spec', '.loadBalancerClass', loadBalancerClass, qualifiedNameError(loadBalancerClass));
}

function checkTraffic(out: Violations, spec: ServiceSpec): void {
  const { externalTrafficPolicy, internalTrafficPolicy, trafficDistribution, healthCheckNodePort = 0 } = spec;
  checkOneOf(out, 'spec', '.externalTrafficPolicy', externalTrafficPolicy, POLICIES);
  if (externalTrafficPolicy && !isReachedFromOutside(spec)) {
    const why = 'may only be set for type NodePort or LoadBalancer, or with externalIPs';
    out.push(invalidValue('spec.externalTrafficPolicy', externalTrafficPolicy, why));
  }
  checkOneOf(out, 'spec', '.internalTrafficPolicy', internalTrafficPolicy, POLICIES);
  if (trafficDistribution !== undefined && !DISTRIBUTIONS.includes(trafficDistribution))
    out.push(notSupported('spec.trafficDistribution', trafficDistribution, DISTRIBUTIONS));
  if (healthCheckNodePort === 0) return;
  checkPort(out, 'spec', '.healthCheckNodePort', healthCheckNodePort);
  if (!needsHealthCheck(spec)) {
    const why = 'may only be set for type LoadBalancer with externalTrafficPolicy Local';
    out.push(invalidValue('spec.healthCheckNodePort', healthCheckNodePort, why));
  }
}

/** What no version of Berth could do for a new service. */
export function validateNewService({ spec = {} }: Service): FieldViolation[] {
  return newSctpPorts(spec, {});
}

/** Ports that a service already has, from a version that kept anything, stay. */
function newSctpPorts({ ports = [] }: ServiceSpec, previous: ServiceSpec): FieldViolation[] {
  const had = new Set((previous.ports ?? []).flatMap(({ protocol, port }) => (protocol === 'SCTP' ? [port] : [])));
  return ports.flatMap(({ protocol, port }, i) => {
    if (protocol !== 'SCTP' || had.has(port)) return [];
    return [invalidValue(`spec.ports[${i}].protocol`, protocol, 'services carry TCP and UDP only, SCTP is not there')];
  });
}

/** What clients and load balancers know it by stays: its first address, its class, its port for health checks. */
export function validateServiceUpdate({ spec: next = {} }: Service, { spec: previous = {} }: Service): FieldViolation[] {
  const out: Violations = [];
  const hadAddress = next.type !== 'ExternalName' && previous.type !== 'ExternalName';
  for (const name of ['clusterIPs', 'ipFamilies'] as const) {
    const [now, was] = [next[name]?.[0], previous[name]?.[0]];
    if (hadAddress && was && now !== was) out.push(invalidValue(`spec.${name}[0]`, now, `cannot change, it is "${was}"`));
  }
  if (hadAddress) checkSecondAddress(out, next, previous);
  out.push(...newSctpPorts(next, previous));
  const wasBalanced = next.type === 'LoadBalancer' && previous.type === 'LoadBalancer';
  if (wasBalanced && next.loadBalancerClass !== previous.loadBalancerClass)
    out.push(invalidValue('spec.loadBalancerClass', next.loadBalancerClass, 'cannot change while type is LoadBalancer'));
  const port = previous.healthCheckNodePort;
  if (needsHealthCheck(next) && needsHealthCheck(previous) && port && next.healthCheckNodePort !== port)
    out.push(forbidden('spec.healthCheckNodePort', `cannot change, it is ${port}`));
  return out;
}

/** A second address or family may come, and go with the policy SingleStack, but does not change. */
function checkSecondAddress(out: Violations, next: ServiceSpec, previous: ServiceSpec): void {
  if (next.ipFamilyPolicy === 'SingleStack') return;
  for (const name of ['clusterIPs', 'ipFamilies'] as const) {
    const [now, was] = [next[name]?.[1], previous[name]?.[1]];
    if (was && now !== was) {
      const why = `cannot change, it is "${was}"; ipFamilyPolicy SingleStack takes it away`;
      out.push(invalidValue(`spec.${name}[1]`, now, why));
    }
  }
}

export function validateServiceStatus({ spec, status }: Service): FieldViolation[] {
  const out: Violations = [];
  const ingress = status?.loadBalancer?.ingress ?? [];
  if (ingress.length > 0 && spec?.type !== 'LoadBalancer')
    out.push(forbidden('status.loadBalancer.ingress', 'may only be set when spec.type is LoadBalancer'));
  ingress.forEach(({ ip = '', hostname = '', ipMode }, i) => {
    const at = `status.loadBalancer.ingress[${i}]`;
    checkIp(out, at, '.ip', ip);
    if (ipMode !== undefined && ip === '') out.push(forbidden(`${at}.ipMode`, 'may only be set with an ip'));
    checkOneOf(out, at, '.ipMode', ipMode, ['VIP', 'Proxy']);
    if (hostname !== '') checkRule(out, at, '.hostname', hostname, subdomainNameError(hostname));
  });
  return out;
}
