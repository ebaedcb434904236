import { duplicate, invalidValue, required } from '../../errors/violations.ts';
import type { AppArmorProfile, PodSecurityContext, SeccompProfile, SecurityContext } from '../../generated/types.ts';
import { checkOneOf, checkRange, type Violations } from '../checks.ts';

/** Linux' user and group ids, as Kubernetes bounds them. */
const ID_MAX = 2 ** 31 - 1;
const PROFILES = ['Localhost', 'RuntimeDefault', 'Unconfined'];
const SYSCTL = /^[a-z0-9]([-_a-z0-9]*[a-z0-9])?([./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*$/;

export function checkPodSecurity(out: Violations, at: string, context: PodSecurityContext | undefined): void {
  if (!context) return;
  for (const name of ['runAsUser', 'runAsGroup', 'fsGroup'] as const) checkRange(out, at, `.${name}`, context[name], 0, ID_MAX);
  context.supplementalGroups?.forEach((group, i) => {
    checkRange(out, at, `.supplementalGroups[${i}]`, group, 0, ID_MAX);
  });
  checkOneOf(out, at, '.fsGroupChangePolicy', context.fsGroupChangePolicy, ['OnRootMismatch', 'Always']);
  checkOneOf(out, at, '.supplementalGroupsPolicy', context.supplementalGroupsPolicy, ['Merge', 'Strict']);
  checkSysctls(out, at, context);
  checkProfile(out, `${at}.seccompProfile`, context.seccompProfile);
  checkProfile(out, `${at}.appArmorProfile`, context.appArmorProfile);
}

function checkSysctls(out: Violations, at: string, { sysctls }: PodSecurityContext): void {
  if (!sysctls) return;
  const seen = new Set<string>();
  sysctls.forEach(({ name = '' }, i) => {
    const field = `${at}.sysctls[${i}].name`;
    if (name === '') out.push(required(field));
    else if (!SYSCTL.test(name))
      out.push(invalidValue(field, name, 'must be the name of a kernel parameter such as "net.core.somaxconn"'));
    if (seen.has(name)) out.push(duplicate(field, name));
    seen.add(name);
  });
}

export function checkContainerSecurity(out: Violations, at: string, context: SecurityContext | undefined): void {
  if (!context) return;
  for (const name of ['runAsUser', 'runAsGroup'] as const) checkRange(out, at, `.${name}`, context[name], 0, ID_MAX);
  checkOneOf(out, at, '.procMount', context.procMount, ['Default', 'Unmasked']);
  checkProfile(out, `${at}.seccompProfile`, context.seccompProfile);
  checkProfile(out, `${at}.appArmorProfile`, context.appArmorProfile);
  if (context.allowPrivilegeEscalation !== false) return;
  const field = `${at}.allowPrivilegeEscalation`;
  if (context.privileged) out.push(invalidValue(field, false, 'cannot be false for a privileged container'));
  if (context.capabilities?.add?.some((name) => /^(CAP_)?SYS_ADMIN$/.test(name))) {
    out.push(invalidValue(field, false, 'cannot be false together with the capability SYS_ADMIN'));
  }
}

function checkProfile(out: Violations, at: string, profile: SeccompProfile | AppArmorProfile | undefined): void {
  if (!profile) return;
  const { type = '', localhostProfile } = profile;
  if (type === '') out.push(required(`${at}.type`));
  checkOneOf(out, at, '.type', type, PROFILES);
  if (type === 'Localhost' && !localhostProfile) out.push(required(`${at}.localhostProfile`, 'type Localhost names one'));
  if (type !== 'Localhost' && localhostProfile !== undefined) {
    out.push(invalidValue(`${at}.localhostProfile`, localhostProfile, 'may only be set with type Localhost'));
  }
}
