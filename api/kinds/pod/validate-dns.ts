import { forbidden, invalidValue, required } from '../../errors/violations.ts';
import type { PodSpec } from '../../generated/types.ts';
import { labelNameError, subdomainNameError } from '../../meta/names.ts';
import { checkIp, checkOneOf, checkRequired, checkRule, type Violations } from '../checks.ts';

const POLICIES = ['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'];
const NAMESERVERS_MAX = 3;
const SEARCHES_MAX = 32;
/** All search domains on one line. */
const SEARCH_LINE_MAX = 2048;
/** The kernel's. */
const HOSTNAME_MAX = 64;
const ONE_WORD = /^[\x21-\x7e]+$/;

/** The name servers of a pod. */
export function checkDns(out: Violations, spec: PodSpec): void {
  checkOneOf(out, 'spec', '.dnsPolicy', spec.dnsPolicy, POLICIES);
  const at = 'spec.dnsConfig';
  const { nameservers = [], searches = [], options = [] } = spec.dnsConfig ?? {};
  if (spec.dnsPolicy === 'None' && nameservers.length === 0) {
    out.push(required(`${at}.nameservers`, 'dnsPolicy None needs at least one'));
  }
  if (nameservers.length > NAMESERVERS_MAX)
    out.push(invalidValue(`${at}.nameservers`, nameservers.length, `must be at most ${NAMESERVERS_MAX}`));
  nameservers.forEach((server, i) => {
    checkRequired(out, at, `.nameservers[${i}]`, server);
    checkIp(out, at, `.nameservers[${i}]`, server);
  });
  checkSearches(out, at, searches);
  options.forEach(({ name, value }, i) => {
    checkRequired(out, at, `.options[${i}].name`, name);
    for (const [part, text] of Object.entries({ name, value })) {
      if (text && !ONE_WORD.test(text)) out.push(invalidValue(`${at}.options[${i}].${part}`, text, 'must be one word'));
    }
  });
}

function checkSearches(out: Violations, at: string, searches: readonly string[]): void {
  if (searches.length > SEARCHES_MAX)
    out.push(invalidValue(`${at}.searches`, searches.length, `must be at most ${SEARCHES_MAX}`));
  if (searches.join(' ').length > SEARCH_LINE_MAX) {
    out.push(invalidValue(`${at}.searches`, searches.length, `must have at most ${SEARCH_LINE_MAX} characters in all`));
  }
  searches.forEach((domain, i) => {
    checkRule(out, at, `.searches[${i}]`, domain, searchError(domain));
  });
}

/** A domain, also with underscores in it and a dot at its end; "." alone searches nowhere. */
function searchError(domain: string): string | undefined {
  return domain === '.' ? undefined : subdomainNameError(domain.replace(/\.$/, '').replaceAll('_', 'x'));
}

/** What a pod is called, and what it calls others. */
export function checkHostNames(out: Violations, spec: PodSpec): void {
  for (const name of ['hostname', 'subdomain'] as const) {
    if (spec[name]) checkRule(out, 'spec', `.${name}`, spec[name], labelNameError(spec[name]));
  }
  const { hostnameOverride } = spec;
  if (hostnameOverride !== undefined) {
    checkRule(out, 'spec', '.hostnameOverride', hostnameOverride, subdomainNameError(hostnameOverride));
    if (hostnameOverride.length > HOSTNAME_MAX)
      out.push(invalidValue('spec.hostnameOverride', hostnameOverride, `must have at most ${HOSTNAME_MAX} characters`));
    for (const other of ['hostNetwork', 'setHostnameAsFQDN'] as const) {
      if (spec[other]) out.push(forbidden('spec.hostnameOverride', `may not be set when ${other} is true`));
    }
  }
  spec.hostAliases?.forEach(({ ip, hostnames = [] }, i) => {
    const at = `spec.hostAliases[${i}]`;
    checkRequired(out, at, '.ip', ip);
    checkIp(out, at, '.ip', ip);
    hostnames.forEach((name, j) => {
      checkRule(out, at, `.hostnames[${j}]`, name, subdomainNameError(name));
    });
  });
}
