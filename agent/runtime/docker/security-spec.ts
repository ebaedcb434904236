import type { ContainerConfig, ContainerSecurity, DeviceMapping, PodNamespaces } from '../runtime.ts';

type Secured = Pick<ContainerConfig, 'security' | 'devices'>;

/**
 * The part of a container's host configuration that says what it may do. `lacking`:
 * capabilities that this machine cannot grant.
 */
export function securitySpec({ security, devices = [] }: Secured, lacking: readonly string[]): object {
  const common = {
    ...(devices.length === 0 ? {} : { Devices: devices.map(deviceSpec) }),
    ReadonlyRootfs: security.readOnlyRootFilesystem,
    ...(security.groups.length === 0 ? {} : { GroupAdd: security.groups.map(String) }),
  };
  if (security.privileged && lacking.length === 0) return { ...common, Privileged: true };
  if (security.privileged) return { ...common, ...asPrivilegedAsPossible(lacking, devices) };
  const { seLinux, noNewPrivileges } = security;
  const options = [...profileOptions(security), ...labelOptions(seLinux), ...(noNewPrivileges ? ['no-new-privileges'] : [])];
  return {
    ...common,
    ...capabilitiesSpec(security.capabilities, lacking),
    ...(options.length === 0 ? {} : { SecurityOpt: options }),
    ...(security.unmaskedProc ? unmasked : {}),
  };
}

/** Empty lists, not absent ones: those mean the engine's own. */
const unmasked = { MaskedPaths: [], ReadonlyPaths: [] };

/**
 * The engine starts no privileged container on a machine without all capabilities. This one may do what the machine
 * itself can: every capability there is, every device, no profiles. Only /sys and the cgroups are mounted read-only; it
 * may mount them anew.
 */
function asPrivilegedAsPossible(lacking: readonly string[], devices: readonly DeviceMapping[]): object {
  return {
    CapAdd: ['ALL'],
    CapDrop: lacking,
    SecurityOpt: ['seccomp=unconfined', 'apparmor=unconfined', 'label=disable'],
    Devices: [{ hostPath: '/dev', containerPath: '/dev', permissions: 'rwm' }, ...devices].map(deviceSpec),
    DeviceCgroupRules: ['a *:* rwm'],
    ...unmasked,
  };
}

function deviceSpec({ hostPath, containerPath, permissions }: DeviceMapping): object {
  return { PathOnHost: hostPath, PathInContainer: containerPath, CgroupPermissions: permissions };
}

function capabilitiesSpec({ add, drop }: ContainerSecurity['capabilities'], lacking: readonly string[]): object {
  const all = add.some((name) => name.toUpperCase() === 'ALL');
  const dropped = all ? [...drop, ...lacking] : drop;
  return { ...(add.length === 0 ? {} : { CapAdd: add }), ...(dropped.length === 0 ? {} : { CapDrop: dropped }) };
}

function profileOptions({ seccomp, appArmor }: ContainerSecurity): string[] {
  return [
    ...(seccomp === 'default' ? [] : [`seccomp=${seccomp === 'unconfined' ? seccomp : seccomp.profile}`]),
    ...(appArmor === undefined ? [] : [`apparmor=${appArmor}`]),
  ];
}

/** An engine without SELinux takes them and does nothing with them. */
export function labelOptions(seLinux: readonly string[]): string[] {
  return seLinux.map((part) => `label=${part}`);
}

/** The namespaces of a container; `joined` names the sandbox. */
export function namespacesSpec(namespaces: PodNamespaces, joined: string): object {
  const { pid, ipc } = namespaces;
  return {
    IpcMode: ipc === 'host' ? 'host' : joined,
    ...(pid === 'container' ? {} : { PidMode: pid === 'host' ? 'host' : joined }),
    ...usersSpec(namespaces),
  };
}

/** The engine maps users for all containers or for none; one container can only be left out of it. */
export function usersSpec({ users }: Pick<PodNamespaces, 'users'>): object {
  return users === 'host' ? { UsernsMode: 'host' } : {};
}
