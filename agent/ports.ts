import { recordPulls } from './config/pulled-images.ts';
import { type MachineInventory, readInventory } from './machine/inventory.ts';
import { createPodDialer, type PodDialer } from './machine/pod-dialer.ts';
import { createUsageReader, type UsageReader } from './machine/usage-reader.ts';
import { createDockerRuntime } from './runtime/docker/docker-runtime.ts';
import type { ContainerAccess, ContainerRuntime, ImageService } from './runtime/runtime.ts';
import { createVolumes, type Volumes } from './volumes/volumes.ts';

/** Everything of the machine that the agent touches. Tests bring their own. */
export interface AgentPorts {
  readonly runtime: ContainerRuntime;
  readonly images: ImageService;
  readonly access: ContainerAccess;
  readonly dialer: PodDialer;
  readonly volumes: Volumes;
  readonly usage: UsageReader;
  readonly inventory: MachineInventory;
  close(): void;
}

export interface PortsOptions {
  readonly nodeName: string;
  /** The agent's own folder: <data>/node/<node>. */
  readonly nodeDir: string;
  readonly dockerSocket: string | undefined;
  readonly warn: (message: string) => void;
}

/** This machine, with the Docker Engine. */
export async function openPorts({ nodeName, nodeDir, dockerSocket, warn }: PortsOptions): Promise<AgentPorts> {
  const docker = createDockerRuntime({ nodeName, warn, ...(dockerSocket === undefined ? {} : { socketPath: dockerSocket }) });
  const dialer = createPodDialer(warn);
  return {
    runtime: docker.runtime,
    images: recordPulls(docker.images, nodeDir, warn),
    access: docker.access,
    dialer,
    volumes: createVolumes(`${nodeDir}/pods`, { warn }),
    usage: createUsageReader({ nodeName, dataDir: nodeDir }),
    inventory: await readInventory({ dataDir: nodeDir }),
    close() {
      dialer.close();
      docker.close();
    },
  };
}
