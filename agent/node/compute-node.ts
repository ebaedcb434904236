import type { ContainerImage, NodeCondition, NodeStatus, NodeUsage, Quantity } from '../../api/generated/types.ts';
import { findCondition, setConditions } from '../../api/meta/conditions.ts';
import { quantityMilli, quantityValue } from '../../api/meta/quantity.ts';
import { secondsTimestamp, toMillis } from '../../api/meta/time.ts';
import { labels } from '../../api/meta/well-known.ts';
import { type Disk, usedPercent } from '../images/decide-collection.ts';
import type { MachineInventory } from '../machine/inventory.ts';
import type { LocalImage } from '../runtime/runtime.ts';

/** What the agent knows of its machine now. */
export interface NodeFacts {
  readonly inventory: MachineInventory;
  /** The engine's name and version; undefined while it does not answer, then `engineError` says why. */
  readonly runtimeVersion: string | undefined;
  readonly engineError: string | undefined;
  readonly agentVersion: string;
  readonly images: readonly LocalImage[];
  readonly usage: NodeUsage | undefined;
  /** The file system of the engine's images, which may be another one than the agent's. */
  readonly imageDisk?: Disk | undefined;
  /**
   * Where pods are to have the routed network: what keeps it from being made, or ''. Undefined: they are in the
   * engine's.
   */
  readonly networkError?: string | undefined;
  readonly nowMs: number;
}

/** Less than 100 MiB of memory, as in Kubernetes, or a twentieth of the disk, as in k3s, is pressure. */
const memoryPressureBytes = 100 * 1024 * 1024;
const diskPressureFraction = 0.95;
/** Only the largest images are reported, each with a few names, as in Kubernetes, to bound the size of the Node. */
const maxImages = 50;
const maxNamesPerImage = 5;

/** The labels that say what the machine is; a user's labels beside them are kept. */
export function nodeLabels(name: string, inventory: MachineInventory): Record<string, string> {
  const { architecture = '', operatingSystem = 'linux' } = inventory.nodeInfo;
  return { [labels.hostname]: name, [labels.arch]: architecture, [labels.os]: operatingSystem };
}

/** The status of the node, with the agent's own conditions. Pure; `previous` is for their times. */
export function computeNodeStatus(facts: NodeFacts, previous: NodeStatus | undefined): NodeStatus {
  const { inventory, nowMs } = facts;
  const now = secondsTimestamp(new Date(nowMs));
  const known = previous?.nodeInfo?.containerRuntimeVersion;
  const runtimeVersion = facts.runtimeVersion ?? known;
  const conditions = conditionsOf(facts).map((condition) => ({ ...condition, lastHeartbeatTime: now }));
  const own = previous?.conditions?.filter(({ type }) => conditions.some((condition) => condition.type === type));
  return {
    capacity: inventory.capacity,
    allocatable: { ...foreignResources(inventory, previous), ...inventory.allocatable },
    addresses: inventory.addresses,
    nodeInfo: {
      ...inventory.nodeInfo,
      kubeletVersion: facts.agentVersion,
      // Clients made of Kubernetes' schemas require it, though no proxy runs.
      kubeProxyVersion: '',
      ...(runtimeVersion === undefined ? {} : { containerRuntimeVersion: runtimeVersion }),
    },
    images: imagesOf(facts.images),
    conditions: setConditions(own, conditions, now),
  };
}

/**
 * What other clients say that the machine has, such as "example.com/dongle": the agent knows nothing of it and offers
 * all of it, as in Kubernetes.
 */
function foreignResources(inventory: MachineInventory, known: NodeStatus | undefined): Record<string, Quantity> {
  const isForeign = ([name]: [string, Quantity]) => name.includes('/') && inventory.capacity[name] === undefined;
  return Object.fromEntries(Object.entries(known?.capacity ?? {}).filter(isForeign));
}

/** What is offered no longer, because the client that said that the machine has it took it back. */
export function withdrawnResources(status: NodeStatus, known: NodeStatus | undefined): string[] {
  return Object.keys(known?.allocatable ?? {}).filter((name) => name.includes('/') && status.allocatable?.[name] === undefined);
}

function conditionsOf({ engineError, usage, inventory, imageDisk, networkError }: NodeFacts): NodeCondition[] {
  const memoryLeft = quantityValue(inventory.capacity.memory) - quantityValue(usage?.memory);
  const lowMemory = usage?.memory !== undefined && memoryLeft < memoryPressureBytes;
  const capacity = quantityValue(usage?.diskCapacity);
  const fullImageDisk = imageDisk !== undefined && usedPercent(imageDisk) > diskPressureFraction * 100;
  const fullDisk = fullImageDisk || (capacity > 0 && quantityValue(usage?.disk) > capacity * diskPressureFraction);
  return [
    pressure('MemoryPressure', lowMemory, 'KubeletHasInsufficientMemory', 'KubeletHasSufficientMemory'),
    pressure('DiskPressure', fullDisk, 'KubeletHasDiskPressure', 'KubeletHasNoDiskPressure'),
    pressure('PIDPressure', false, 'KubeletHasInsufficientPID', 'KubeletHasSufficientPID'),
    ...(networkError === undefined ? [] : [networkCondition(networkError)]),
    engineError === undefined
      ? { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'the agent is posting ready status' }
      : {
          type: 'Ready',
          status: 'False',
          reason: 'KubeletNotReady',
          message: `the container engine does not answer: ${engineError}`,
        },
  ];
}

function networkCondition(error: string): NodeCondition {
  const type = 'NetworkUnavailable';
  return error === ''
    ? { type, status: 'False', reason: 'RouteCreated', message: "nothing is in the way of the pods' network" }
    : { type, status: 'True', reason: 'NoRouteCreated', message: error };
}

function pressure(type: string, present: boolean, yes: string, no: string): NodeCondition {
  return { type, status: present ? 'True' : 'False', reason: present ? yes : no };
}

function imagesOf(images: readonly LocalImage[]): ContainerImage[] {
  return images
    .filter(({ names }) => names.length > 0)
    .toSorted((a, b) => b.sizeBytes - a.sizeBytes || (a.id < b.id ? -1 : 1))
    .slice(0, maxImages)
    .map((image) => ({ names: image.names.slice(0, maxNamesPerImage), sizeBytes: image.sizeBytes }));
}

/** A status as text, without heartbeat times, to detect changes that need a write. */
export function fingerprint(status: NodeStatus): string {
  return JSON.stringify({
    ...status,
    usage: undefined,
    conditions: status.conditions?.map((condition) => ({ ...condition, lastHeartbeatTime: undefined })),
  });
}

/**
 * Whether the API says of every condition of the agent what the agent says.
 * The node controller overwrites those of a silent agent.
 */
export function saysTheSame(known: NodeStatus | undefined, status: NodeStatus): boolean {
  return (status.conditions ?? []).every(({ type = '', status: own, reason }) => {
    const said = findCondition(known?.conditions, type);
    return said?.status === own && said?.reason === reason;
  });
}

/** A twentieth of what the machine has: less is noise, and every write is a write to disk. */
const changeFraction = 0.05;
const maxUsageAgeMs = 60_000;

/** Whether a new reading says enough to be written. */
export function isUsageNews(next: NodeUsage, written: NodeUsage | undefined, machine: Pick<NodeStatus, 'capacity'>): boolean {
  if (written === undefined) return true;
  if (
    next.timestamp !== undefined &&
    written.timestamp !== undefined &&
    toMillis(next.timestamp) - toMillis(written.timestamp) >= maxUsageAgeMs
  )
    return true;
  const cpu = Math.abs(quantityMilli(next.cpu) - quantityMilli(written.cpu));
  const memory = Math.abs(quantityValue(next.memory) - quantityValue(written.memory));
  const disk = Math.abs(quantityValue(next.disk) - quantityValue(written.disk));
  return (
    cpu > changeFraction * quantityMilli(machine.capacity?.cpu) ||
    memory > changeFraction * quantityValue(machine.capacity?.memory) ||
    disk > changeFraction * quantityValue(next.diskCapacity)
  );
}
