import type {
  EphemeralContainerCommon,
  LifecycleHandler,
  PodSpec,
  Probe,
  SELinuxOptions,
  SecurityContext,
} from '../../generated/types.ts';
import { dottedSysctl, safeSysctls } from './sysctls.ts';

/** Kubernetes' Pod Security Standards, from no bounds to the strictest. */
export const podSecurityLevels = ['privileged', 'baseline', 'restricted'] as const;
export type PodSecurityLevel = (typeof podSecurityLevels)[number];

/** What a level does not allow: in a few words, and where it stands or what to do. */
export interface PodSecurityViolation {
  readonly reason: string;
  readonly detail: string;
}

interface Contained {
  readonly name: string;
  readonly container: EphemeralContainerCommon;
  readonly security: SecurityContext;
}

interface Judged {
  readonly spec: PodSpec;
  readonly containers: readonly Contained[];
}

type Check = (judged: Judged) => PodSecurityViolation | undefined;

/** May be added by level baseline: what container engines give anyway. */
const usualCapabilities = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
]);
/** The types of SELinux that confine a container. */
const confinedTypes = ['container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t'];
const confinedProfiles = ['RuntimeDefault', 'Localhost'];
/** Sources of volumes that show nothing of the machine. */
const boundedVolumes = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
] as const;

const baseline: readonly Check[] = [
  hostNamespaces,
  ofContainers('privileged', ({ security }) => security.privileged === true, 'must not set securityContext.privileged=true'),
  unusualCapabilities,
  hostPaths,
  ofContainers(
    'hostPort',
    ({ container }) => container.ports?.some(({ hostPort = 0 }) => hostPort !== 0) === true,
    'must not use hostPorts',
  ),
  ofContainers(
    'probe or lifecycle host',
    ({ container }) => hostsOf(container).some((host) => host !== ''),
    'must not name a host in probes and lifecycle hooks',
  ),
  profiles('appArmorProfile'),
  ofContainers('procMount', ({ security }) => (security.procMount ?? 'Default') !== 'Default', 'must not set another procMount'),
  profiles('seccompProfile'),
  foreignLabels,
  unsafeSysctls,
];

const restricted: readonly Check[] = [
  restrictedVolumes,
  ofContainers(
    'allowPrivilegeEscalation != false',
    ({ security }) => security.allowPrivilegeEscalation !== false,
    'must set securityContext.allowPrivilegeEscalation=false',
  ),
  keptCapabilities,
  mayBeRoot,
  rootUser,
  noSeccomp,
];

/**
 * What of a pod the level does not allow; a Kubernetes of today says the same, as far as Berth runs such pods at all
 * (no Windows).
 */
export function podSecurityViolations(spec: PodSpec, level: PodSecurityLevel): PodSecurityViolation[] {
  if (level === 'privileged') return [];
  const judged = { spec, containers: containersOf(spec) };
  const checks = level === 'baseline' ? baseline : [...baseline, ...restricted];
  return checks.map((check) => check(judged)).filter((found) => found !== undefined);
}

function containersOf({ containers = [], initContainers = [], ephemeralContainers = [] }: PodSpec): Contained[] {
  const common = ephemeralContainers.map(({ ephemeralContainerCommon = {} }) => ephemeralContainerCommon);
  return [...initContainers, ...containers, ...common].map((container) => ({
    name: container.name ?? '',
    container,
    security: container.securityContext ?? {},
  }));
}

function ofContainers(reason: string, isBad: (each: Contained) => boolean, what: string): Check {
  return ({ containers }) => {
    const bad = containers.filter(isBad);
    return bad.length === 0 ? undefined : { reason, detail: `${named(bad)} ${what}` };
  };
}

/** container "a", or containers "a", "b". */
function named(containers: readonly Contained[], first = 'container'): string {
  return `${first}${containers.length > 1 ? 's' : ''} ${containers.map(({ name }) => `"${name}"`).join(', ')}`;
}

function hostNamespaces({ spec }: Judged): PodSecurityViolation | undefined {
  const shared = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((field) => spec[field] === true);
  return shared.length === 0
    ? undefined
    : { reason: 'host namespaces', detail: shared.map((field) => `${field}=true`).join(', ') };
}

function unusualCapabilities({ containers }: Judged): PodSecurityViolation | undefined {
  const bad = containers.filter(({ security }) => security.capabilities?.add?.some((name) => !usualCapabilities.has(name)));
  const added = new Set(
    bad.flatMap(({ security }) => security.capabilities?.add ?? []).filter((name) => !usualCapabilities.has(name)),
  );
  if (added.size === 0) return undefined;
  const list = [...added].sort().map((name) => `"${name}"`);
  return {
    reason: 'non-default capabilities',
    detail: `${named(bad)} must not include ${list.join(', ')} in securityContext.capabilities.add`,
  };
}

function hostPaths({ spec }: Judged): PodSecurityViolation | undefined {
  const found = (spec.volumes ?? []).filter(({ volumeSource }) => volumeSource?.hostPath !== undefined);
  return found.length === 0 ? undefined : { reason: 'hostPath volumes', detail: volumesNamed(found) };
}

function restrictedVolumes({ spec }: Judged): PodSecurityViolation | undefined {
  const found = (spec.volumes ?? []).filter(({ volumeSource = {} }) =>
    boundedVolumes.every((source) => volumeSource[source] === undefined),
  );
  return found.length === 0
    ? undefined
    : { reason: 'restricted volume types', detail: `${volumesNamed(found)}: only ${boundedVolumes.join(', ')} may be used` };
}

function volumesNamed(volumes: readonly { readonly name?: string }[]): string {
  return `volume${volumes.length > 1 ? 's' : ''} ${volumes.map(({ name }) => `"${name}"`).join(', ')}`;
}

function hostsOf({ livenessProbe, readinessProbe, startupProbe, lifecycle }: EphemeralContainerCommon): string[] {
  const handlers: (Probe['handler'] | LifecycleHandler)[] = [
    livenessProbe?.handler,
    readinessProbe?.handler,
    startupProbe?.handler,
    lifecycle?.postStart,
    lifecycle?.preStop,
  ];
  return handlers.flatMap((handler) => [handler?.httpGet?.host ?? '', handler?.tcpSocket?.host ?? '']);
}

/** A named profile confines. */
function profiles(field: 'appArmorProfile' | 'seccompProfile'): Check {
  return ({ spec, containers }) => {
    const isBad = (type: string | undefined): boolean => type !== undefined && !confinedProfiles.includes(type);
    const places = [
      ...(isBad(spec.securityContext?.[field]?.type) ? ['pod'] : []),
      ...containers.filter(({ security }) => isBad(security[field]?.type)).map(({ name }) => `container "${name}"`),
    ];
    if (places.length === 0) return undefined;
    return { reason: field, detail: `${places.join(', ')} must not set securityContext.${field}.type to "Unconfined"` };
  };
}

/** A level may be chosen; the user, the role and most types would lead out of the container. */
function foreignLabels({ spec, containers }: Judged): PodSecurityViolation | undefined {
  const wrongIn = (options: SELinuxOptions = {}): string[] => [
    ...(options.type && !confinedTypes.includes(options.type) ? [`type "${options.type}"`] : []),
    ...(options.user ? ['a user'] : []),
    ...(options.role ? ['a role'] : []),
  ];
  const places = [
    { place: 'pod', wrong: wrongIn(spec.securityContext?.seLinuxOptions) },
    ...containers.map(({ name, security }) => ({ place: `container "${name}"`, wrong: wrongIn(security.seLinuxOptions) })),
  ].filter(({ wrong }) => wrong.length > 0);
  if (places.length === 0) return undefined;
  const detail = places.map(({ place, wrong }) => `${place} must not set ${wrong.join(', ')} in securityContext.seLinuxOptions`);
  return { reason: 'seLinuxOptions', detail: detail.join('; ') };
}

function unsafeSysctls({ spec }: Judged): PodSecurityViolation | undefined {
  const names = (spec.securityContext?.sysctls ?? []).map(({ name = '' }) => name);
  const unsafe = names.filter((name) => !safeSysctls.includes(dottedSysctl(name)));
  return unsafe.length === 0 ? undefined : { reason: 'forbidden sysctls', detail: unsafe.join(', ') };
}

function keptCapabilities({ containers }: Judged): PodSecurityViolation | undefined {
  const keeps = containers.filter(({ security }) => !security.capabilities?.drop?.includes('ALL'));
  const adds = containers.filter(({ security }) => security.capabilities?.add?.some((name) => name !== 'NET_BIND_SERVICE'));
  const details = [
    ...(keeps.length > 0 ? [`${named(keeps)} must set securityContext.capabilities.drop=["ALL"]`] : []),
    ...(adds.length > 0 ? [`${named(adds)} may only add NET_BIND_SERVICE`] : []),
  ];
  return details.length === 0 ? undefined : { reason: 'unrestricted capabilities', detail: details.join('; ') };
}

function mayBeRoot({ spec, containers }: Judged): PodSecurityViolation | undefined {
  const reason = 'runAsNonRoot != true';
  const explicit = containers.filter(({ security }) => security.runAsNonRoot === false);
  if (explicit.length > 0) return { reason, detail: `${named(explicit)} must not set securityContext.runAsNonRoot=false` };
  if (spec.securityContext?.runAsNonRoot === true) return undefined;
  const silent = containers.filter(({ security }) => security.runAsNonRoot !== true);
  if (silent.length === 0) return undefined;
  return { reason, detail: `${named(silent, 'pod or container')} must set securityContext.runAsNonRoot=true` };
}

function rootUser({ spec, containers }: Judged): PodSecurityViolation | undefined {
  const places = [
    ...(spec.securityContext?.runAsUser === 0 ? ['pod'] : []),
    ...containers.filter(({ security }) => security.runAsUser === 0).map(({ name }) => `container "${name}"`),
  ];
  return places.length === 0 ? undefined : { reason: 'runAsUser=0', detail: `${places.join(', ')} must not set runAsUser=0` };
}

function noSeccomp({ spec, containers }: Judged): PodSecurityViolation | undefined {
  if (spec.securityContext?.seccompProfile !== undefined) return undefined;
  const silent = containers.filter(({ security }) => security.seccompProfile === undefined);
  if (silent.length === 0) return undefined;
  const detail = `${named(silent, 'pod or container')} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`;
  return { reason: 'seccompProfile', detail };
}
