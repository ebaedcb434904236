import type { Container, Pod, PodSecurityContext, SELinuxOptions, SecurityContext } from '../../api/generated/types.ts';
import { dottedSysctl } from '../../api/kinds/pod/sysctls.ts';
import { isUnconfined } from '../../api/kinds/pod/validate-security.ts';
import type { ContainerSecurity, Mount, PodNamespaces } from '../runtime/runtime.ts';
import { ContainerConfigError } from './config-error.ts';
import type { GivenDevices } from './device-units.ts';

/** What a container's security depends on besides its pod. */
export interface SecurityFacts {
  /**
   * The image's own user ("user", "user:group"; "" is root). Only needed where `needsImageUser` is true.
   */
  readonly imageUser?: string | undefined;
  /** The text of the seccomp profile that `localhostSeccomp` names. */
  readonly seccompProfile?: string | undefined;
  /** Files of the pod that stand in for those of the image, unless the container mounts something of its own there. */
  readonly files?: readonly Mount[] | undefined;
  /** The node's devices that were set aside for the container. */
  readonly given?: GivenDevices | undefined;
}

/** The fields that a pod and its container both have: the container's word counts. */
export interface EffectiveSecurity extends SecurityContext, Pick<PodSecurityContext, 'fsGroup' | 'supplementalGroupsPolicy'> {
  readonly supplementalGroups: readonly number[];
}

/** The security context of a container: its own, and the pod's where it says nothing itself. Pure. */
export function effectiveSecurity(pod: Pod, container: Container): EffectiveSecurity {
  const shared = pod.spec?.securityContext ?? {};
  const own = container.securityContext ?? {};
  return {
    ...own,
    runAsUser: own.runAsUser ?? shared.runAsUser,
    runAsGroup: own.runAsGroup ?? shared.runAsGroup,
    runAsNonRoot: own.runAsNonRoot ?? shared.runAsNonRoot,
    seccompProfile: own.seccompProfile ?? shared.seccompProfile,
    appArmorProfile: own.appArmorProfile ?? shared.appArmorProfile,
    seLinuxOptions: own.seLinuxOptions ?? shared.seLinuxOptions,
    supplementalGroups: shared.supplementalGroups ?? [],
    supplementalGroupsPolicy: shared.supplementalGroupsPolicy,
    fsGroup: shared.fsGroup,
  };
}

/** Whether the image's own user has to be known before the container can be configured. */
export function needsImageUser(pod: Pod, container: Container): boolean {
  const { runAsUser, runAsGroup, runAsNonRoot, supplementalGroupsPolicy } = effectiveSecurity(pod, container);
  return runAsUser === undefined && (runAsGroup !== undefined || runAsNonRoot === true || supplementalGroupsPolicy === 'Strict');
}

/** The file, below the node's folder of profiles, that the container's seccomp profile is in. */
export function localhostSeccomp(pod: Pod, container: Container): string | undefined {
  const { seccompProfile, privileged } = effectiveSecurity(pod, container);
  return seccompProfile?.type === 'Localhost' && privileged !== true ? (seccompProfile.localhostProfile ?? '') : undefined;
}

/** A container's security options for the engine. Pure; throws ContainerConfigError for errors in the spec. */
export function computeSecurity(pod: Pod, container: Container, facts: SecurityFacts): ContainerSecurity {
  const wanted = effectiveSecurity(pod, container);
  checkNonRoot(pod, container, wanted, facts.imageUser ?? '');
  const { add = [], drop = [] } = wanted.capabilities ?? {};
  return {
    user: userOf(wanted, facts.imageUser ?? ''),
    groups: [...new Set([...wanted.supplementalGroups, ...(wanted.fsGroup === undefined ? [] : [wanted.fsGroup])])],
    privileged: wanted.privileged === true,
    readOnlyRootFilesystem: wanted.readOnlyRootFilesystem === true,
    noNewPrivileges: wanted.allowPrivilegeEscalation === false,
    capabilities: { add, drop },
    seccomp: seccompOf(wanted, facts.seccompProfile),
    appArmor: appArmorOf(wanted),
    unmaskedProc: wanted.procMount === 'Unmasked',
    seLinux: seLinuxParts(wanted.seLinuxOptions),
  };
}

/** Kubernetes' rule and message: only a numeric user can be verified to be non-root. */
function checkNonRoot(pod: Pod, { name = '' }: Container, wanted: EffectiveSecurity, imageUser: string): void {
  if (wanted.runAsNonRoot !== true) return;
  const { metadata } = pod;
  const where = `(pod: "${metadata?.name}_${metadata?.namespace}(${metadata?.uid})", container: ${name})`;
  if (wanted.runAsUser === 0) throw new ContainerConfigError(`container's runAsUser breaks non-root policy ${where}`);
  if (wanted.runAsUser !== undefined) return;
  const user = namedUser(imageUser);
  if (!/^\d+$/.test(user)) {
    const why = `container has runAsNonRoot and image has non-numeric user (${user}), cannot verify user is non-root`;
    throw new ContainerConfigError(`${why} ${where}`);
  }
  if (Number(user) === 0) throw new ContainerConfigError(`container has runAsNonRoot and image will run as root ${where}`);
}

/** The user part of an image's user; without one it is root. */
function namedUser(imageUser: string): string {
  return imageUser.split(':', 1)[0] || '0';
}

/**
 * As the engine reads it. With a group it looks up none in the image: which is what Strict means, and what Merge cannot
 * have when the pod names the group.
 */
function userOf(wanted: EffectiveSecurity, imageUser: string): string | undefined {
  const { runAsUser, runAsGroup } = wanted;
  const user = runAsUser === undefined ? namedUser(imageUser) : String(runAsUser);
  if (runAsGroup !== undefined) return `${user}:${runAsGroup}`;
  if (wanted.supplementalGroupsPolicy === 'Strict') return `${user}:${strictGroup(wanted, imageUser)}`;
  return runAsUser === undefined ? undefined : user;
}

/** The primary group of a user without supplementary groups; known only where a group is given, and for root. */
function strictGroup({ runAsUser }: EffectiveSecurity, imageUser: string): string {
  const group = imageUser.split(':')[1] ?? '';
  if (runAsUser === undefined && /^\d+$/.test(group)) return group;
  if (runAsUser === 0 || (runAsUser === undefined && ['0', 'root'].includes(namedUser(imageUser)))) return '0';
  throw new ContainerConfigError('supplementalGroupsPolicy Strict needs runAsGroup here: the group of the user is not known');
}

function seccompOf({ seccompProfile }: EffectiveSecurity, text: string | undefined): ContainerSecurity['seccomp'] {
  if (seccompProfile?.type === 'Unconfined') return 'unconfined';
  return seccompProfile?.type === 'Localhost' ? { profile: text ?? '' } : 'default';
}

function appArmorOf({ appArmorProfile }: EffectiveSecurity): string | undefined {
  if (appArmorProfile?.type === 'Unconfined') return 'unconfined';
  if (appArmorProfile?.type !== 'Localhost') return undefined;
  const { localhostProfile = '' } = appArmorProfile;
  // The engine takes the name as it is, and pod security has judged this as a profile that confines.
  if (isUnconfined(localhostProfile.trim()))
    throw new ContainerConfigError(`the AppArmor profile "${localhostProfile}" does not confine: it needs type Unconfined`);
  return localhostProfile;
}

/** A container's context stands for all of the pod's, as in Kubernetes: parts of both are never mixed. */
export function seLinuxParts(options: SELinuxOptions | undefined): string[] {
  const parts = (['user', 'role', 'type', 'level'] as const).map((part) => [part, options?.[part] ?? ''] as const);
  return parts.filter(([, value]) => value !== '').map(([part, value]) => `${part}:${value}`);
}

/**
 * The namespaces of a pod. Without a word about users the engine's own way stays, but a pod that has a namespace of the
 * machine, or a privileged container, can only have the machine's users. Pure.
 */
export function computeNamespaces(pod: Pod): PodNamespaces {
  const { hostNetwork, hostPID, hostIPC, shareProcessNamespace, hostUsers } = pod.spec ?? {};
  const ofMachine = hostNetwork === true || hostPID === true || hostIPC === true || everyContainer(pod).some(isPrivileged);
  return {
    pid: hostPID === true ? 'host' : shareProcessNamespace === true ? 'pod' : 'container',
    ipc: hostIPC === true ? 'host' : 'pod',
    users: hostUsers === false ? 'own' : hostUsers === true || ofMachine ? 'host' : 'engine',
  };
}

/** All containers of a pod that it is made with. */
export function everyContainer(pod: Pod): readonly Container[] {
  return [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
}

function isPrivileged(container: Container): boolean {
  return container.securityContext?.privileged === true;
}

/** Kernel parameters by name; slashes are accepted as dots. */
export function computeSysctls(pod: Pod): Record<string, string> {
  const sysctls = pod.spec?.securityContext?.sysctls ?? [];
  return Object.fromEntries(sysctls.map(({ name = '', value = '' }) => [dottedSysctl(name), value]));
}
