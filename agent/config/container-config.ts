import type { Container, Pod, VolumeMount } from '../../api/generated/types.ts';
import { quantityMilli, quantityValue } from '../../api/meta/quantity.ts';
import type { ContainerConfig, ContainerIdentity, Mount, PortMapping, SandboxConfig } from '../runtime/runtime.ts';
import { sandboxName } from '../runtime/runtime.ts';
import type { ReadyVolume } from '../volumes/volumes.ts';
import { ContainerConfigError } from './config-error.ts';
import type { PodFacts } from './downward.ts';
import { computeEnv, type PodObjects } from './env.ts';
import { expand } from './expand.ts';

/** One start of one container. */
export interface ContainerStart {
  readonly attempt: number;
  readonly restartsInRow: number;
  readonly specHash: string;
}

export interface ContainerInput extends ContainerStart {
  readonly pod: Pod;
  readonly container: Container;
  readonly sandboxId: string;
  readonly objects: PodObjects;
  readonly facts: PodFacts;
  readonly volumes: ReadonlyMap<string, ReadyVolume>;
}

const defaultGraceSeconds = 30;

export function identityOf(pod: Pod, containerName: string, start: ContainerStart): ContainerIdentity {
  return {
    podUid: pod.metadata?.uid ?? '',
    podName: pod.metadata?.name ?? '',
    podNamespace: pod.metadata?.namespace ?? '',
    containerName,
    attempt: start.attempt,
    restartsInRow: start.restartsInRow,
    specHash: start.specHash,
    gracePeriodSeconds: pod.spec?.terminationGracePeriodSeconds ?? defaultGraceSeconds,
  };
}

/** Everything the engine needs to start a container. Pure; throws ContainerConfigError for what the user has to mend. */
export function computeContainerConfig(input: ContainerInput): ContainerConfig {
  const { pod, container } = input;
  const env = computeEnv(pod, container, input.objects, input.facts);
  const expanded = (words: readonly string[] | undefined) =>
    words === undefined || words.length === 0 ? undefined : words.map((word) => expand(word, env));
  const security = container.securityContext ?? {};
  return {
    identity: identityOf(pod, container.name ?? '', input),
    sandboxId: input.sandboxId,
    image: container.image ?? '',
    command: expanded(container.command),
    args: expanded(container.args),
    workingDir: container.workingDir || undefined,
    env: [...env].map(([name, value]) => ({ name, value })),
    mounts: (container.volumeMounts ?? []).map((mount) => mountOf(mount, input.volumes)),
    resources: computeLimits(container),
    oomScoreAdj: oomScore(pod, container, input.facts.allocatable.memoryBytes),
    user: userOf(pod, container),
    privileged: security.privileged === true,
    readOnlyRootFilesystem: security.readOnlyRootFilesystem === true,
    tty: container.tty === true,
    stdin: container.stdin === true,
    stdinOnce: container.stdin === true && container.stdinOnce === true,
  };
}

const propagations: Readonly<Record<string, Mount['propagation']>> = { HostToContainer: 'rslave', Bidirectional: 'rshared' };

function mountOf(mount: VolumeMount, volumes: ReadonlyMap<string, ReadyVolume>): Mount {
  const volume = volumes.get(mount.name ?? '');
  if (volume === undefined) throw new ContainerConfigError(`volume "${mount.name ?? ''}" is not in the pod`);
  return {
    hostPath: volume.hostPath,
    containerPath: mount.mountPath ?? '',
    readOnly: mount.readOnly === true || volume.readOnly,
    propagation: propagations[mount.mountPropagation ?? ''] ?? 'rprivate',
  };
}

/** The kernel's least share, for containers that ask for nothing; the least quota it takes is 1 ms in 100. */
const minShares = 2;
const minQuota = 1000;

/** Shares from the request (or, without one, the limit), quota and memory from the limits. */
export function computeLimits(container: Container): ContainerConfig['resources'] {
  const { requests = {}, limits = {} } = container.resources ?? {};
  const request = requests.cpu ?? limits.cpu;
  const quota = limits.cpu === undefined ? 0 : Math.max(minQuota, quantityMilli(limits.cpu) * 100);
  return {
    cpuShares: Math.max(minShares, Math.floor((quantityMilli(request) * 1024) / 1000)),
    cpuQuota: quantityMilli(limits.cpu) === 0 ? 0 : quota,
    memoryBytes: quantityValue(limits.memory),
  };
}

/** Kubernetes' order of victims: guaranteed last, best effort first, between them the more it uses over its request. */
function oomScore(pod: Pod, container: Container, capacity: number): number | undefined {
  if (pod.status?.qosClass === 'Guaranteed') return -997;
  if (pod.status?.qosClass === 'BestEffort' || capacity <= 0) return 1000;
  const share = Math.floor((1000 * quantityValue(container.resources?.requests?.memory)) / capacity);
  return Math.min(999, Math.max(3, 1000 - share));
}

function userOf(pod: Pod, container: Container): string | undefined {
  const user = container.securityContext?.runAsUser ?? pod.spec?.securityContext?.runAsUser;
  const group = container.securityContext?.runAsGroup ?? pod.spec?.securityContext?.runAsGroup;
  if (user === undefined && group === undefined) return undefined;
  return group === undefined ? String(user) : `${user ?? 0}:${group}`;
}

/** The sandbox: the pod's name on the network and the ports that the machine opens for it. */
export function computeSandboxConfig(pod: Pod, image: string, attempt: number): SandboxConfig {
  const hostNetwork = pod.spec?.hostNetwork === true;
  return {
    identity: identityOf(pod, sandboxName, { attempt, restartsInRow: 0, specHash: '' }),
    image,
    hostname: (pod.spec?.hostname || pod.metadata?.name || '').slice(0, maxHostname).replace(/[-.]+$/, ''),
    hostNetwork,
    portMappings: hostNetwork ? [] : portMappings(pod),
  };
}

/** The kernel's limit is 64; Kubernetes cuts at 63. */
const maxHostname = 63;

/** The ports of the machine that a pod takes, with or without a network of its own. */
export function portMappings(pod: Pod): PortMapping[] {
  return (pod.spec?.containers ?? [])
    .flatMap((container) => container.ports ?? [])
    .filter((port) => (port.hostPort ?? 0) > 0)
    .map((port) => ({
      containerPort: port.containerPort ?? 0,
      hostPort: port.hostPort ?? 0,
      hostIP: port.hostIP ?? '',
      protocol: (port.protocol ?? 'TCP').toLowerCase() as PortMapping['protocol'],
    }));
}
