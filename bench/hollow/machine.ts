import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { goArchitecture, type MachineInventory } from '../../agent/machine/inventory.ts';
import { computeVolumePlan } from '../../agent/volumes/volume-plan.ts';
import type { Volumes } from '../../agent/volumes/volumes.ts';
import type { Quantity } from '../../api/generated/types.ts';
import { formatAddress } from './addresses.ts';
import type { CompleteHollowOptions } from './options.ts';

/** What all nodes have; each gets the same object. */
export function hollowCapacity({ cpu, memory, pods }: CompleteHollowOptions): Readonly<Record<string, Quantity>> {
  return {
    cpu: { string: cpu },
    memory: { string: memory },
    'ephemeral-storage': { string: '100Gi' },
    pods: { string: String(pods) },
  };
}

const operatingSystem = 'linux';
/** 10.0.0.0; pods' addresses begin behind the 4 million that nodes may have. */
const firstAddress = 10 * 2 ** 24;

export interface HollowPlace {
  readonly nodeName: string;
  readonly index: number;
  /** Of this start of all nodes. */
  readonly bootID: string;
  readonly capacity: Readonly<Record<string, Quantity>>;
}

export function hollowInventory({ nodeName, index, bootID, capacity }: HollowPlace): MachineInventory {
  const machineID = createHash('sha256').update(nodeName).digest('hex').slice(0, 32);
  return {
    capacity: { ...capacity },
    allocatable: { ...capacity },
    addresses: [
      { type: 'InternalIP', address: formatAddress(firstAddress + index + 1) },
      { type: 'Hostname', address: nodeName },
    ],
    nodeInfo: {
      machineID,
      systemUUID: machineID,
      bootID,
      kernelVersion: 'hollow',
      osImage: 'hollow node',
      operatingSystem,
      architecture: goArchitecture(process.arch),
    },
  };
}

/** Volumes that no container reads: planned as on a real node, with the same problems, and never made. */
export function createHollowVolumes(podsDir: string): Volumes {
  const podDir = (podUid: string) => join(podsDir, podUid);
  return {
    async ensureVolumes(input) {
      const { steps, problems } = computeVolumePlan(input);
      return { volumes: new Map(steps.map(({ name, path, readOnly }) => [name, { hostPath: path, readOnly }])), problems };
    },
    refreshVolumes: async () => {},
    ensureSubPath: async ({ volumePath, subPath }) => join(volumePath, subPath),
    // The agent itself writes a pod's /etc/hosts.
    removePodVolumes: (podUid) => rm(podDir(podUid), { recursive: true, force: true }),
    releasePodVolumes: async () => {},
    listPods: async () => [],
    podDir,
    sharedDir: podDir,
    removeMadeFolder: async () => {},
  };
}
