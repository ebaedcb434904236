import { duplicate, invalidValue, required } from '../../errors/violations.ts';
import type { AppArmorProfile, PodSecurityContext, PodSpec, SeccompProfile, SecurityContext } from '../../generated/types.ts';
import { checkOneOf, checkRange, checkRelativePath, type Violations } from '../checks.ts';
import { type SysctlNamespace, sysctlNamespace } from './sysctls.ts';

/** Linux' user and group ids, as Kubernetes bounds them. */
const ID_MAX = 2 ** 31 - 1;
const PROFILES = ['Localhost', 'RuntimeDefault', 'Unconfined'];
const SYSCTL = /^[a-z0-9]([-_a-z0-9]*[a-z0-9])?([./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*$/;

const SYSCTL_LONGEST = 253;
/** The longest path of Linux, less its end. */
const PROFILE_LONGEST = 4095;

/** The security context of a pod with this spec. */
export function checkPodSecurity(out: Violations, spec: PodSpec): void {
  const { securityContext: context } = spec;
  const at = 'spec.securityContext';
  if (!context) return;
  for (const name of ['runAsUser', 'runAsGroup', 'fsGroup'] as const) checkRange(out, at, `.${name}`, context[name], 0, ID_MAX);
  context.supplementalGroups?.forEach((group, i) => {
    checkRange(out, at, `.supplementalGroups[${i}]`, group, 0, ID_MAX);
  });
  checkOneOf(out, at, '.fsGroupChangePolicy', context.fsGroupChangePolicy, ['OnRootMismatch', 'Always']);
  checkOneOf(out, at, '.supplementalGroupsPolicy', context.supplementalGroupsPolicy, ['Merge', 'Strict']);
  checkOneOf(out, at, '.seLinuxChangePolicy', context.seLinuxChangePolicy, ['MountOption', 'Recursive']);
  checkSysctls(out, at, spec);
  checkSeccomp(out, `${at}.seccompProfile`, context.seccompProfile);
  checkAppArmor(out, `${at}.appArmorProfile`, context.appArmorProfile);
}

function checkSysctls(out: Violations, at: string, { securityContext, hostNetwork, hostIPC }: PodSpec): void {
  const { sysctls }: PodSecurityContext = securityContext ?? {};
  if (!sysctls) return;
  const ofHost = (namespace: SysctlNamespace | undefined) =>
    (namespace === 'net' && hostNetwork && 'hostNetwork') || (namespace === 'ipc' && hostIPC && 'hostIPC');
  const seen = new Set<string>();
  sysctls.forEach(({ name = '' }, i) => {
    const field = `${at}.sysctls[${i}].name`;
    if (name === '') out.push(required(field));
    else if (name.length > SYSCTL_LONGEST || !SYSCTL.test(name))
      out.push(invalidValue(field, name, 'must be the name of a kernel parameter such as "net.core.somaxconn"'));
    const host = ofHost(sysctlNamespace(name));
    if (host) out.push(invalidValue(field, name, `may not be set when ${host} is true`));
    if (seen.has(name)) out.push(duplicate(field, name));
    seen.add(name);
  });
}

export function checkContainerSecurity(out: Violations, at: string, context: SecurityContext | undefined, spec: PodSpec): void {
  if (!context) return;
  for (const name of ['runAsUser', 'runAsGroup'] as const) checkRange(out, at, `.${name}`, context[name], 0, ID_MAX);
  checkOneOf(out, at, '.procMount', context.procMount, ['Default', 'Unmasked']);
  if (context.procMount === 'Unmasked' && spec.hostUsers !== false) {
    out.push(invalidValue(`${at}.procMount`, 'Unmasked', 'hostUsers must be false to use it'));
  }
  checkSeccomp(out, `${at}.seccompProfile`, context.seccompProfile);
  checkAppArmor(out, `${at}.appArmorProfile`, context.appArmorProfile);
  if (context.allowPrivilegeEscalation !== false) return;
  const field = `${at}.allowPrivilegeEscalation`;
  if (context.privileged) out.push(invalidValue(field, false, 'cannot be false for a privileged container'));
  if (context.capabilities?.add?.some((name) => /^(CAP_)?SYS_ADMIN$/.test(name))) {
    out.push(invalidValue(field, false, 'cannot be false together with the capability SYS_ADMIN'));
  }
}

/** The profile is a file below a folder of the node. */
function checkSeccomp(out: Violations, at: string, profile: SeccompProfile | undefined): void {
  checkProfile(out, at, profile);
  if (profile?.localhostProfile) checkRelativePath(out, at, '.localhostProfile', profile.localhostProfile);
}

/** The profile is known to the node's kernel by name. */
function checkAppArmor(out: Violations, at: string, profile: AppArmorProfile | undefined): void {
  checkProfile(out, at, profile);
  const name = profile?.localhostProfile ?? '';
  const field = `${at}.localhostProfile`;
  if (name.trim() !== name) out.push(invalidValue(field, name, 'must not start or end with white space'));
  if (isUnconfined(name)) out.push(invalidValue(field, name, 'must name a profile; unconfined is type Unconfined'));
  if (Buffer.byteLength(name) > PROFILE_LONGEST) {
    out.push(invalidValue(field, `${name.slice(0, 20)}...`, `must have at most ${PROFILE_LONGEST} bytes`));
  }
}

/** Whether the kernel takes a profile's name for no profile, also with a namespace (`:ns:unconfined`) or in a stack. */
export function isUnconfined(name: string): boolean {
  return /(^|[:/&])unconfined($|[:/&])/.test(name);
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
