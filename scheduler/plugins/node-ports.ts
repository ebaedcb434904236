import { type HostPort, hostPortKey, isSameHostPort } from '../../api/kinds/pod/host-ports.ts';
import type { NodeTable } from '../cache/node-table.ts';
import { wordPods } from '../framework/audience.ts';
import { definePlugin, proceed, type Rejection, skip, unschedulable } from '../framework/plugin.ts';

/** A host port that the pod asks for, and what is said of nodes where it is taken. */
interface WantedPort {
  readonly key: string;
  readonly port: HostPort;
  readonly taken: Rejection;
}

/**
 * Keeps a pod off nodes where another pod, placed ones included, has one of its host ports: the same number and
 * protocol, on the same address or on all of them. What other programs of the machine listen on is not known here; the
 * agent finds out, says so and tries again.
 */
export const nodePorts = definePlugin<readonly WantedPort[]>({
  name: 'NodePorts',
  prepare({ pod, nodes }) {
    if (pod.hostPorts.length === 0 || nodes.sums.hostPorts === 0) return skip;
    return proceed(pod.hostPorts.map(wanted), { score: false, shape: JSON.stringify(pod.hostPorts) });
  },
  filter(ports, nodes, row) {
    if (nodes.columns.hostPorts[row] === 0) return undefined;
    for (let i = 0; i < ports.length; i++) if (isTaken(ports[i]!, nodes, row)) return ports[i]!.taken;
    return undefined;
  },
  explain(ports, nodes, row, audience) {
    const taken = ports.filter((each) => isTaken(each, nodes, row));
    return taken
      .map(({ key, port }) => `host port ${key} is taken by ${wordPods(ownersOf(port, nodes, row), audience)}`)
      .join('; ');
  },
  helps(pod, event) {
    if (event.kind === 'node/added') return true;
    return event.kind === 'pod/removed' && clash(pod.hostPorts, event.pod.hostPorts);
  },
});

function wanted(port: HostPort): WantedPort {
  const key = hostPortKey(port);
  return { key, port, taken: unschedulable(`node(s) had host port ${key} taken by another pod`, ['node/added', 'pod/removed']) };
}

function isTaken({ key, port }: WantedPort, nodes: NodeTable, row: number): boolean {
  return nodes.hostPorts[row]!.get(key)?.some((other) => isSameHostPort(port, other)) ?? false;
}

function ownersOf(port: HostPort, nodes: NodeTable, row: number): string[] {
  return [...nodes.pods[row]!.values()].filter((pod) => clash([port], pod.hostPorts)).map(({ key }) => key);
}

function clash(ports: readonly HostPort[], others: readonly HostPort[]): boolean {
  return ports.some((port) => others.some((other) => isSameHostPort(port, other)));
}
