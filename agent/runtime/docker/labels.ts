import { type ContainerIdentity, type PortMapping, sandboxName } from '../runtime.ts';

/**
 * Every container of ours carries these labels: they are all that an agent that starts again knows. An image brings
 * labels too, which show where the container was created without: one that a container may lack is written empty, or
 * read of sandboxes alone, whose image is the agent's own.
 */
export const label = {
  node: 'io.berth.node',
  podUid: 'io.berth.pod.uid',
  podName: 'io.berth.pod.name',
  podNamespace: 'io.berth.pod.namespace',
  gracePeriod: 'io.berth.pod.grace-period-seconds',
  runtimeHandler: 'io.berth.pod.runtime-handler',
  containerName: 'io.berth.container.name',
  attempt: 'io.berth.container.attempt',
  sandboxId: 'io.berth.container.sandbox-id',
  restartsInRow: 'io.berth.container.restarts-in-row',
  devices: 'io.berth.container.devices',
  specHash: 'io.berth.container.spec-hash',
  /** On a sandbox that the agent joins to its own network: the pod's address, which the engine does not know. */
  ip: 'io.berth.sandbox.ip',
  /** On a sandbox whose ports of the machine the agent publishes itself: these, as JSON. */
  ports: 'io.berth.sandbox.ports',
} as const;

export type Labels = Readonly<Record<string, string>>;

const defaultGracePeriodSeconds = 30;

export function labelsOf(nodeName: string, identity: ContainerIdentity): Record<string, string> {
  return {
    [label.node]: nodeName,
    [label.podUid]: identity.podUid,
    [label.podName]: identity.podName,
    [label.podNamespace]: identity.podNamespace,
    [label.gracePeriod]: String(identity.gracePeriodSeconds),
    ...(identity.runtimeHandler === undefined ? {} : { [label.runtimeHandler]: identity.runtimeHandler }),
    [label.containerName]: identity.containerName,
    [label.attempt]: String(identity.attempt),
    [label.restartsInRow]: String(identity.restartsInRow ?? 0),
    [label.devices]: identity.heldUnits === undefined ? '' : JSON.stringify(identity.heldUnits),
    [label.specHash]: identity.specHash,
  };
}

/**
 * Reads labels back. What is missing reads as empty or zero: such a container is still ours,
 * and is swept as an unwanted one.
 */
export function identityOf(labels: Labels): ContainerIdentity {
  return {
    podUid: labels[label.podUid] ?? '',
    podName: labels[label.podName] ?? '',
    podNamespace: labels[label.podNamespace] ?? '',
    ...(labels[label.runtimeHandler] === undefined ? {} : { runtimeHandler: labels[label.runtimeHandler] }),
    containerName: labels[label.containerName] ?? '',
    attempt: wholeNumber(labels[label.attempt], 0),
    restartsInRow: wholeNumber(labels[label.restartsInRow], 0),
    ...heldUnitsOf(labels[label.devices]),
    specHash: labels[label.specHash] ?? '',
    gracePeriodSeconds: wholeNumber(labels[label.gracePeriod], defaultGracePeriodSeconds),
  };
}

/** Nothing where the label is not ours. */
function heldUnitsOf(text: string | undefined): Pick<ContainerIdentity, 'heldUnits'> {
  if (!text) return {};
  try {
    const entries = Object.entries(JSON.parse(text) as object);
    return { heldUnits: Object.fromEntries(entries.filter(([, ids]) => Array.isArray(ids))) };
  } catch {
    return {};
  }
}

/** The address of a sandbox that the agent itself joins to its network. */
export function joinedAddressOf(labels: Labels | null | undefined): string | undefined {
  return labels?.[label.containerName] === sandboxName ? labels[label.ip] : undefined;
}

/** None where the label is not ours. Of sandboxes only. */
export function hostPortsOf(labels: Labels): PortMapping[] {
  try {
    const ports: unknown = JSON.parse(labels[label.ports] ?? '[]');
    return Array.isArray(ports) ? ports.filter(isPortMapping) : [];
  } catch {
    return [];
  }
}

function isPortMapping(value: unknown): value is PortMapping {
  const { containerPort, hostPort, hostIP, protocol } = (value ?? {}) as Partial<PortMapping>;
  const isWhole = Number.isInteger(containerPort) && Number.isInteger(hostPort);
  return isWhole && typeof hostIP === 'string' && (protocol === 'tcp' || protocol === 'udp');
}

function wholeNumber(text: string | undefined, fallback: number): number {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : fallback;
}

/** Whether both say the same, as far as labels are ours: an image brings its own. */
export function isSameLabels(a: Labels, b: Labels): boolean {
  return Object.values(label).every((key) => a[key] === b[key]);
}

// A container name has 63 characters at most, a namespace too; a pod's name may have 253 and is cut:
// the uid keeps names apart.
const longestPart = 63;

/** The engine's name of a container, for users of `docker ps`; the agent does not rely on it. */
export function engineName(identity: ContainerIdentity): string {
  const parts = [identity.containerName, identity.podName, identity.podNamespace, identity.podUid, String(identity.attempt)];
  return ['berth', ...parts.map((part) => part.slice(0, longestPart).replace(/[^a-zA-Z0-9.-]/g, '-'))].join('_');
}
