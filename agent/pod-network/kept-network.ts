import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAddressRange } from '../../api/meta/address-range.ts';
import { systemClock } from '../../client/clock.ts';
import { replaceFile } from '../kept-file.ts';
import type { LinkOwner } from './link-commands.ts';
import { type ClusterRanges, type NetFile, PodNetwork } from './pod-network.ts';
import { createShell } from './shell.ts';

/** What is kept on disk, so that pods find their network again while the API is away, and purge what to remove. */
export interface Kept {
  readonly range: string;
  readonly address: string;
  /** Ranges of other nodes that routes lead to. */
  readonly routes: readonly string[];
  /** Links of the machine whose setting for loopback addresses was changed. */
  readonly opened: readonly string[];
  readonly cluster?: ClusterNetwork;
}

/** What the NodeNetwork of a node says of the whole cluster. */
export interface ClusterNetwork {
  /** Ranges, such as "10.42.0.0/16". */
  readonly pods: readonly string[];
  readonly services: readonly string[];
  /** "cluster.local". */
  readonly domain: string;
}

const keptFile = (nodeDir: string): string => join(nodeDir, 'pod-network.json');

export function readKept(nodeDir: string): Kept | undefined {
  try {
    const text = readFileSync(keptFile(nodeDir), 'utf8');
    const { range, address, routes = [], opened = [], cluster } = JSON.parse(text) as Partial<Kept>;
    if (range === undefined || address === undefined) return undefined;
    return { ...{ range, address, routes, opened }, ...(cluster && { cluster }) };
  } catch {
    return undefined;
  }
}

export const writeKept = (nodeDir: string, kept: Kept): Promise<void> => replaceFile(keptFile(nodeDir), kept);

export const rangesOf = ({ pods, services }: ClusterNetwork): ClusterRanges => ({
  pods: pods.map(parseAddressRange),
  services: services.map(parseAddressRange),
});

export const ownerOf = (dataDir: string, nodeName: string): LinkOwner => ({ dataDir, nodeName });

/** Settings belong to the network of the process that reads them. */
export function netPathOf(file: NetFile, pid?: number): string {
  if (file === 'ip_forward') return '/proc/sys/net/ipv4/ip_forward';
  const [, link] = /^forwarding of (.+)$/.exec(file) ?? [];
  return link === undefined ? `/proc/${pid ?? 'self'}/net/${file}` : `/proc/sys/net/ipv4/conf/${link}/forwarding`;
}

/**
 * As the machine's own network is; undefined where the process has ended. Read at once: such a file is made in memory,
 * and by way of Node.js' threads it would cost four times as much, for each pod every 10 s.
 */
export async function readNet(file: NetFile, pid?: number): Promise<string | undefined> {
  try {
    return readFileSync(netPathOf(file, pid), 'utf8');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (pid !== undefined && ['ENOENT', 'ESRCH', 'EINVAL'].includes(code)) return undefined;
    throw error;
  }
}

/** Whether an agent with this folder has made a network, which has to be kept while its pods run. */
export const hasPodNetwork = (nodeDir: string): boolean => readKept(nodeDir) !== undefined;

/** Removes the network that agents of this node made, when its containers are gone. False: there was none. */
export async function removePodNetwork(
  dataDir: string,
  nodeName: string,
  nodeDir: string,
  shell = createShell(),
): Promise<boolean> {
  const kept = readKept(nodeDir);
  if (kept === undefined) return false;
  const network = new PodNetwork({
    ...{
      shell,
      owner: ownerOf(dataDir, nodeName),
      range: parseAddressRange(kept.range),
      address: kept.address,
      routes: kept.routes,
      opened: kept.opened,
      cluster: kept.cluster && rangesOf(kept.cluster),
    },
    ...{ warn: () => {}, readNet, clock: systemClock },
  });
  await network.remove();
  await rm(keptFile(nodeDir), { force: true });
  return true;
}
