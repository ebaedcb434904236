import { statfs } from 'node:fs/promises';
import { cpus, hostname, networkInterfaces, release, totalmem } from 'node:os';
import { join } from 'node:path';
import type { NodeAddress, NodeStatus, NodeSystemInfo, Quantity } from '../../api/generated/types.ts';
import { formatMemory } from '../../api/meta/quantity.ts';
import { parseDefaultInterface } from './network.ts';
import { readSmallFile } from './small-file.ts';

export interface InventoryOptions {
  /** Its file system counts as the node's ephemeral storage. */
  readonly dataDir: string;
  readonly root?: string | undefined;
  /** The address others reach this node at; by default the default route's. */
  readonly address?: string | undefined;
  /** Addresses that are not the machine's for long, and never the node's: those of load balancers. */
  readonly except?: readonly string[] | undefined;
}

/**
 * What a machine is: the pieces of Node.status that do not change while it runs.
 * The runtime's version is the agent's to add.
 */
export type MachineInventory = Required<Pick<NodeStatus, 'capacity' | 'allocatable' | 'addresses' | 'nodeInfo'>>;

// What pods do not get. Memory: for the system, the engine and the agent; a twentieth, and on small machines not less
// than 100 MiB. CPU: nothing, it is shared by weight. Pods: Kubernetes' promise for one node.
const memoryReserveFraction = 0.05;
const memoryReserveLeast = 100 * 1024 * 1024;
const podsPerNode = 110;
// A full disk stops everything: a tenth stays free for logs and images.
const diskReserveFraction = 0.1;

/** Read once, when the agent starts. */
export async function readInventory(options: InventoryOptions): Promise<MachineInventory> {
  const root = options.root ?? '/';
  const disk = await statfs(options.dataDir);
  const amounts = { cores: cpus().length, memoryBytes: totalmem(), diskBytes: disk.blocks * disk.bsize };
  return {
    ...computeCapacity(amounts),
    addresses: computeAddresses({
      hostname: hostname(),
      interfaces: networkInterfaces(),
      defaultInterface: parseDefaultInterface(readSmallFile(join(root, 'proc/net/route')) ?? ''),
      address: options.address,
      except: options.except,
    }),
    nodeInfo: readNodeInfo(root),
  };
}

export interface MachineAmounts {
  readonly cores: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
}

export function computeCapacity(machine: MachineAmounts): Pick<MachineInventory, 'capacity' | 'allocatable'> {
  const reserve = Math.max(memoryReserveLeast, Math.round(machine.memoryBytes * memoryReserveFraction));
  const amounts = (memoryBytes: number, diskBytes: number): Record<string, Quantity> => ({
    cpu: { string: String(machine.cores) },
    memory: { string: kibibytes(memoryBytes) },
    'ephemeral-storage': { string: kibibytes(diskBytes) },
    pods: { string: String(podsPerNode) },
  });
  return {
    capacity: amounts(machine.memoryBytes, machine.diskBytes),
    allocatable: amounts(Math.max(0, machine.memoryBytes - reserve), machine.diskBytes * (1 - diskReserveFraction)),
  };
}

function kibibytes(bytes: number): string {
  return formatMemory(Math.floor(bytes / 1024) * 1024);
}

export interface AddressFacts {
  readonly hostname: string;
  readonly interfaces: ReturnType<typeof networkInterfaces>;
  readonly defaultInterface: string | undefined;
  readonly address: string | undefined;
  readonly except?: readonly string[] | undefined;
}

/**
 * The node's address: the one given, else the default route's interface's,
 * else any that is not only the machine's own, else loopback.
 */
export function computeAddresses(facts: AddressFacts): NodeAddress[] {
  const named = (name: string | undefined) => (name === undefined ? [] : (facts.interfaces[name] ?? []));
  const candidates = [
    ...named(facts.defaultInterface),
    ...Object.values(facts.interfaces).flatMap((addresses) => addresses ?? []),
  ];
  const outward = candidates.filter(
    ({ internal, scopeid, address }) => !internal && !scopeid && !facts.except?.includes(address),
  );
  const chosen = outward.find(({ family }) => family === 'IPv4') ?? outward[0];
  return [
    { type: 'InternalIP', address: facts.address ?? chosen?.address ?? '127.0.0.1' },
    { type: 'Hostname', address: facts.hostname },
  ];
}

function readNodeInfo(root: string): NodeSystemInfo {
  const read = (path: string) => readSmallFile(join(root, path))?.trim();
  // Images of machines have it empty.
  const machineID = read('etc/machine-id') || read('var/lib/dbus/machine-id') || '';
  return {
    machineID,
    systemUUID: readHardwareId(root) || machineID,
    bootID: read('proc/sys/kernel/random/boot_id') ?? '',
    kernelVersion: release(),
    osImage: readOsImage(root) ?? 'Linux',
    operatingSystem: 'linux',
    architecture: goArchitecture(process.arch),
  };
}

/** The firmware's UUID, which root alone may read, or the serial number of a board that has no such firmware. */
function readHardwareId(root: string): string | undefined {
  const uuid = readSmallFile(join(root, 'sys/class/dmi/id/product_uuid'))?.trim().toLowerCase();
  return uuid || /^serial\s*:\s*(\S+)/im.exec(readSmallFile(join(root, 'proc/cpuinfo')) ?? '')?.[1];
}

/** What the distribution calls itself. */
function readOsImage(root: string): string | undefined {
  return /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(readSmallFile(join(root, 'etc/os-release')) ?? '')?.[1];
}

/** Images and node labels name processors as Go does. */
export function goArchitecture(arch: string): string {
  return { x64: 'amd64', ia32: '386' }[arch] ?? arch;
}
