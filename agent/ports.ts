import { announcedAddresses } from './announcer/link-addresses.ts';
import { type MachineInventory, readInventory } from './machine/inventory.ts';
import { createMachineReader, type MachineReader } from './machine/machine-reader.ts';
import { createPodDialer, type PodDialer } from './machine/pod-dialer.ts';
import { type HeldImage, holdSandboxImage } from './pause/held-image.ts';
import { createDockerRuntime } from './runtime/docker/docker-runtime.ts';
import type { RoutedNetwork } from './runtime/docker/routed-runtime.ts';
import type { CommandRunner, ContainerAccess, ContainerRuntime, ImageService, ObservedContainer } from './runtime/runtime.ts';
import { createVolumes, type Volumes } from './volumes/volumes.ts';

/** Everything of the machine that the agent touches. Tests bring their own. */
export interface AgentPorts {
  readonly runtime: ContainerRuntime;
  readonly images: ImageService;
  readonly access: ContainerAccess;
  readonly commands: CommandRunner;
  /** What sandboxes are made of. */
  readonly sandboxImage: HeldImage;
  /** Whose files nodes/proxy shows; /var/log unless given. */
  readonly logFolder?: string;
  readonly dialer: PodDialer;
  readonly volumes: Volumes;
  readonly usage: MachineReader;
  /** The memory of a running container that cannot be taken from it; by default what the kernel says. */
  readonly memoryUsage?: (container: ObservedContainer) => number | undefined;
  readonly inventory: MachineInventory;
  close(): void;
}

export interface PortsOptions {
  readonly nodeName: string;
  /** The agent's own folder: <data>/node/<node>. */
  readonly nodeDir: string;
  readonly dockerSocket?: string | undefined;
  readonly sandboxImage?: string | undefined;
  readonly maxContainerPids?: number | undefined;
  /** See DockerRuntimeOptions. */
  readonly routed?: RoutedNetwork | undefined;
  /** Instead of a folder in nodeDir. */
  readonly localPathFolder?: string | undefined;
  readonly warn: (message: string) => void;
}

/** This machine, with the Docker Engine. */
export async function openPorts(options: PortsOptions): Promise<AgentPorts> {
  const { nodeName, nodeDir, dockerSocket, sandboxImage, localPathFolder, warn, maxContainerPids, routed } = options;
  const docker = createDockerRuntime({
    nodeName,
    warn,
    maxContainerPids,
    routed,
    ...(dockerSocket === undefined ? {} : { socketPath: dockerSocket }),
  });
  const held = holdSandboxImage(docker.images, sandboxImage);
  const dialer = createPodDialer(warn);
  return {
    runtime: docker.runtime,
    images: docker.images,
    access: docker.access,
    commands: docker.commands,
    sandboxImage: held,
    dialer,
    volumes: createVolumes(`${nodeDir}/pods`, { localPathFolder, warn }),
    usage: createMachineReader({ nodeName, dataDir: nodeDir }),
    inventory: await readInventory({ dataDir: nodeDir, except: announcedAddresses(nodeDir) }),
    close() {
      dialer.close();
      docker.close();
    },
  };
}
