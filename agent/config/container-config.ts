import { posix } from 'node:path';
import type { Container, Pod } from '../../api/generated/types.ts';
import { namedPortsOf } from '../../api/kinds/pod/named-ports.ts';
import { isSidecar } from '../../api/kinds/pod/status-cells.ts';
import { quantityMilli, quantityValue } from '../../api/meta/quantity.ts';
import { podContainers } from '../pod/pod-containers.ts';
import type { ContainerConfig, ContainerIdentity, Mount, PortMapping, SandboxConfig } from '../runtime/runtime.ts';
import { sandboxName } from '../runtime/runtime.ts';
import type { ReadyVolume } from '../volumes/volumes.ts';
import type { HeldUnits } from './device-units.ts';
import type { PodFacts } from './downward.ts';
import { computeEnv, type PodObjects } from './env.ts';
import { expandAll } from './expand.ts';
import { computeHostName } from './host-name.ts';
import { computeNamespaces, computeSecurity, computeSysctls, type SecurityFacts, seLinuxParts } from './security.ts';
import { computeMounts } from './volume-mounts.ts';

/** One start of one container. */
export interface ContainerStart {
  readonly attempt: number;
  readonly restartsInRow: number;
  readonly specHash: string;
  /** The engine's runtime that the pod's class names; the sandbox and its containers have the same. */
  readonly runtimeHandler?: string | undefined;
  readonly heldUnits?: HeldUnits | undefined;
}

export interface ContainerInput extends ContainerStart {
  readonly pod: Pod;
  readonly container: Container;
  readonly sandboxId: string;
  /** The container whose processes an ephemeral one sees, by id. */
  readonly processesOf?: string | undefined;
  readonly objects: PodObjects;
  readonly facts: PodFacts;
  readonly security?: SecurityFacts;
  readonly volumes: ReadonlyMap<string, ReadyVolume>;
  /** Where the parts of volumes are, by the index of their mount. */
  readonly subPaths: ReadonlyMap<number, string>;
}

const defaultGraceSeconds = 30;

export function identityOf(pod: Pod, containerName: string, start: ContainerStart): ContainerIdentity {
  return {
    podUid: pod.metadata?.uid ?? '',
    podName: pod.metadata?.name ?? '',
    podNamespace: pod.metadata?.namespace ?? '',
    containerName,
    ...(start.runtimeHandler === undefined ? {} : { runtimeHandler: start.runtimeHandler }),
    ...(start.heldUnits === undefined ? {} : { heldUnits: start.heldUnits }),
    attempt: start.attempt,
    restartsInRow: start.restartsInRow,
    specHash: start.specHash,
    gracePeriodSeconds: pod.spec?.terminationGracePeriodSeconds ?? defaultGraceSeconds,
  };
}

/**
 * Everything the engine needs to start a container. Pure; throws ContainerConfigError for what the user has to mend.
 */
export function computeContainerConfig(input: ContainerInput): ContainerConfig {
  const { pod, container } = input;
  const given = input.security?.given ?? { held: {}, devices: [] };
  const env = computeEnv(pod, container, input.objects, input.facts);
  const expanded = (words: readonly string[] | undefined) =>
    words === undefined || words.length === 0 ? undefined : expandAll(words, env);
  return {
    identity: identityOf(pod, container.name ?? '', { ...input, ...(given.devices.length > 0 && { heldUnits: given.held }) }),
    sandboxId: input.sandboxId,
    ...(input.processesOf === undefined ? {} : { processesOf: input.processesOf }),
    image: container.image ?? '',
    command: expanded(container.command),
    args: expanded(container.args),
    workingDir: container.workingDir || undefined,
    env: [...env].map(([name, value]) => ({ name, value })),
    mounts: mountsOf(input),
    resources: computeLimits(container),
    oomScoreAdj: oomScore(pod, container, input.facts.allocatable.memoryBytes),
    devices: given.devices,
    security: computeSecurity(pod, container, input.security ?? {}),
    namespaces: computeNamespaces(pod),
    ...(container.lifecycle?.stopSignal ? { stopSignal: container.lifecycle.stopSignal } : {}),
    tty: container.tty === true,
    stdin: container.stdin === true,
    stdinOnce: container.stdin === true && container.stdinOnce === true,
  };
}

function mountsOf({ container, volumes, subPaths, security }: ContainerInput): Mount[] {
  const own = computeMounts(container, volumes, subPaths);
  const taken = new Set(own.map(({ containerPath }) => posix.normalize(containerPath).replace(/(?<=.)\/$/, '')));
  return [...own, ...(security?.files ?? []).filter(({ containerPath }) => !taken.has(containerPath))];
}

/** The kernel's least share, for containers that ask for nothing, and its greatest. */
const minShares = 2;
const maxShares = 262_144;
/** The kernel takes a quota of 1 ms in 100 at the least, and of 2^44 microseconds at the most. */
const minQuota = 1000;
const maxQuota = 2 ** 43;

/** Shares from the request (or, without one, the limit), quota and memory from the limits. */
export function computeLimits(container: Container): ContainerConfig['resources'] {
  const { requests = {}, limits = {} } = container.resources ?? {};
  const request = requests.cpu ?? limits.cpu;
  const quota = Math.min(maxQuota, Math.max(minQuota, quantityMilli(limits.cpu) * 100));
  return {
    cpuShares: Math.min(maxShares, Math.max(minShares, Math.floor((quantityMilli(request) * 1024) / 1000))),
    cpuQuota: quantityMilli(limits.cpu) === 0 ? 0 : quota,
    // The engine reads 64 bits; what is greater than exact numbers go is no limit for any machine.
    memoryBytes: Math.min(Number.MAX_SAFE_INTEGER, quantityValue(limits.memory)),
  };
}

/** Kubernetes' order of victims: guaranteed last, best effort first, between them the more it uses over its request. */
function oomScore(pod: Pod, container: Container, capacity: number): number | undefined {
  // Limits of the pod as a whole, which older pods may have, are not enforced, and so earn no protection.
  if (pod.status?.qosClass === 'Guaranteed' && !hasLimits(pod.spec?.resources)) return -997;
  if (pod.status?.qosClass === 'BestEffort' || capacity <= 0) return 1000;
  const requested = quantityValue(container.resources?.requests?.memory);
  // A sidecar goes no sooner than the containers that need it.
  const asked = isSidecar(container) ? Math.max(requested, leastRequest(pod)) : requested;
  return Math.min(999, Math.max(3, 1000 - Math.floor((1000 * asked) / capacity)));
}

const hasLimits = (resources: Container['resources']): boolean => Object.keys(resources?.limits ?? {}).length > 0;

function leastRequest(pod: Pod): number {
  return Math.min(...(pod.spec?.containers ?? []).map(({ resources }) => quantityValue(resources?.requests?.memory)));
}

/** The sandbox: the pod's name on the network and the ports that the machine opens for it. */
export function computeSandboxConfig(pod: Pod, image: string, attempt: number, runtimeHandler?: string): SandboxConfig {
  const hostNetwork = pod.spec?.hostNetwork === true;
  return {
    identity: identityOf(pod, sandboxName, { attempt, restartsInRow: 0, specHash: '', runtimeHandler }),
    image,
    hostname: computeHostName(pod).kernel,
    hostNetwork,
    portMappings: hostNetwork ? [] : portMappings(pod),
    namespaces: computeNamespaces(pod),
    sysctls: computeSysctls(pod),
    seLinux: seLinuxParts(pod.spec?.securityContext?.seLinuxOptions),
    labels: pod.metadata?.labels ?? {},
    namedPorts: namedPortsOf(pod),
  };
}

/** The ports of the machine that a pod takes, with or without a network of its own. */
export function portMappings(pod: Pod): PortMapping[] {
  return podContainers(pod)
    .filter(({ role }) => role !== 'init')
    .flatMap(({ container }) => container.ports ?? [])
    .filter((port) => (port.hostPort ?? 0) > 0)
    .map((port) => ({
      containerPort: port.containerPort ?? 0,
      hostPort: port.hostPort ?? 0,
      hostIP: port.hostIP ?? '',
      protocol: (port.protocol ?? 'TCP').toLowerCase() as PortMapping['protocol'],
    }));
}
