import { join } from 'node:path';
import { type ObservedContainer, sandboxName } from '../runtime/runtime.ts';
import { type InterfaceCounters, outward, parseNetDev } from './network.ts';
import type { ReadSmallFile } from './small-file.ts';

/**
 * The interfaces of a pod, by those that its sandbox's process sees; without the loopback. Undefined when the sandbox
 * has ended, and for a pod without an address of its own: it is in the machine's network, whose traffic is not the
 * pod's.
 */
export function readPodInterfaces(
  root: string,
  containers: readonly ObservedContainer[],
  read: ReadSmallFile,
): InterfaceCounters[] | undefined {
  const sandbox = containers.find((container) => container.containerName === sandboxName);
  if (sandbox?.pid === undefined || sandbox.ip === undefined) return undefined;
  const text = read(join(root, 'proc', String(sandbox.pid), 'net/dev'));
  return text === undefined ? undefined : outward(parseNetDev(text));
}

/** The containers that run, pod by pod. */
export function groupRunning(containers: readonly ObservedContainer[]): Map<string, ObservedContainer[]> {
  const pods = new Map<string, ObservedContainer[]>();
  for (const container of containers) {
    if (container.state !== 'running') continue;
    const group = pods.get(container.podUid);
    if (group === undefined) pods.set(container.podUid, [container]);
    else group.push(container);
  }
  return pods;
}
