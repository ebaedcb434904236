import type { FieldViolation } from '../../errors/api-error.ts';
import { invalidValue, required } from '../../errors/violations.ts';
import type { HTTPIngressPath, Ingress, IngressBackend, IngressServiceBackend, IngressTLS } from '../../generated/types.ts';
import { ipVersion } from '../../meta/ip.ts';
import { labelNameError, portNameError, subdomainNameError } from '../../meta/names.ts';
import { checkIp, checkOneOf, checkPort, checkRequired, checkRule, type Violations } from '../checks.ts';
import { checkTypedReference } from '../references.ts';
import { classAnnotation } from './class-name.ts';

const PATH_TYPES = ['Exact', 'ImplementationSpecific', 'Prefix'];
/** What two programs may read differently. */
const WRONG_SEQUENCES = ['//', '/./', '/../', '%2f', '%2F'];
const WRONG_ENDS = ['/..', '/.'];

/** Kubernetes' rules. */
export function validateIngress({ spec = {} }: Ingress): FieldViolation[] {
  const out: Violations = [];
  const { defaultBackend, rules = [], tls = [], ingressClassName } = spec;
  if (rules.length === 0 && defaultBackend === undefined) out.push(required('spec', 'either defaultBackend or rules'));
  if (defaultBackend) checkBackend(out, 'spec.defaultBackend', defaultBackend);
  rules.forEach(({ host, ingressRuleValue }, i) => {
    const at = `spec.rules[${i}]`;
    if (host && ipVersion(host) !== 0) out.push(invalidValue(`${at}.host`, host, 'must be a host name, not an IP address'));
    else if (host) checkHost(out, at, '.host', host);
    const { paths } = ingressRuleValue?.http ?? {};
    if (ingressRuleValue?.http && !paths?.length) out.push(required(`${at}.http.paths`, 'at least one'));
    paths?.forEach((path, j) => {
      checkPath(out, `${at}.http.paths[${j}]`, path);
    });
  });
  tls.forEach((each, i) => {
    checkTls(out, `spec.tls[${i}]`, each);
  });
  if (ingressClassName !== undefined)
    checkRule(out, 'spec', '.ingressClassName', ingressClassName, subdomainNameError(ingressClassName));
  return out;
}

function checkHost(out: Violations, at: string, name: string, host: string): void {
  checkRule(out, at, name, host, host.includes('*') ? wildcardError(host) : subdomainNameError(host));
}

/** All hosts right below a domain. */
function wildcardError(host: string): string | undefined {
  if (host.startsWith('*.') && subdomainNameError(host.slice(2)) === undefined) return undefined;
  return 'must have "*" as its whole first part only, as in "*.example.com"';
}

function checkTls(out: Violations, at: string, { hosts = [], secretName }: IngressTLS): void {
  hosts.forEach((host, i) => {
    checkHost(out, at, `.hosts[${i}]`, host);
  });
  if (secretName) checkRule(out, at, '.secretName', secretName, subdomainNameError(secretName));
}

function checkPath(out: Violations, at: string, { path = '', pathType = '', backend = {} }: HTTPIngressPath): void {
  if (pathType === '') {
    out.push(required(`${at}.pathType`, `one of ${PATH_TYPES.map((each) => `"${each}"`).join(', ')}`));
    return;
  }
  checkOneOf(out, at, '.pathType', pathType, PATH_TYPES);
  const isSpecific = pathType === 'ImplementationSpecific';
  const wrong = (why: string): unknown => out.push(invalidValue(`${at}.path`, path, why));
  if (PATH_TYPES.includes(pathType) && !path.startsWith('/') && !(isSpecific && path === '')) wrong('must begin with "/"');
  if (pathType === 'Exact' || pathType === 'Prefix') {
    for (const each of WRONG_SEQUENCES) if (path.includes(each)) wrong(`must not contain "${each}"`);
    for (const each of WRONG_ENDS) if (path.endsWith(each)) wrong(`must not end with "${each}"`);
  }
  checkBackend(out, `${at}.backend`, backend);
}

function checkBackend(out: Violations, at: string, { resource, service }: IngressBackend): void {
  if (resource && service) out.push(invalidValue(at, 'resource, service', 'must have only one of resource and service'));
  else if (resource) checkTypedReference(out, `${at}.resource`, resource);
  else if (service) checkService(out, `${at}.service`, service);
  else out.push(required(at, 'one of resource and service'));
}

function checkService(
  out: Violations,
  at: string,
  { name, port: { name: portName = '', number = 0 } = {} }: IngressServiceBackend,
): void {
  checkRequired(out, at, '.name', name);
  if (name) checkRule(out, at, '.name', name, labelNameError(name));
  if (portName !== '' && number !== 0) out.push(invalidValue(`${at}.port`, portName, 'must have only one of name and number'));
  else if (portName !== '') checkRule(out, at, '.port.name', portName, portNameError(portName));
  else if (number !== 0) checkPort(out, at, '.port.number', number);
  else out.push(required(`${at}.port`, 'a name or a number'));
}

/** The older way to name a class may stand beside the newer one only if both say the same. */
export function validateNewIngress({ metadata, spec }: Ingress): FieldViolation[] {
  const [older, newer] = [metadata?.annotations?.[classAnnotation], spec?.ingressClassName];
  if (older === undefined || newer === undefined || older === newer) return [];
  return [invalidValue(`metadata.annotations[${classAnnotation}]`, older, `must be spec.ingressClassName, which is "${newer}"`)];
}

export function validateIngressStatus({ status }: Ingress): FieldViolation[] {
  const out: Violations = [];
  (status?.loadBalancer?.ingress ?? []).forEach(({ ip, hostname }, i) => {
    const at = `status.loadBalancer.ingress[${i}]`;
    checkIp(out, at, '.ip', ip);
    if (hostname && ipVersion(hostname) !== 0)
      out.push(invalidValue(`${at}.hostname`, hostname, 'must be a host name, not an IP address'));
    else if (hostname) checkRule(out, at, '.hostname', hostname, subdomainNameError(hostname));
  });
  return out;
}
