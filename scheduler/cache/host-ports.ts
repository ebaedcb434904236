import { type HostPort, hostPortKey } from '../../api/kinds/pod/host-ports.ts';

/** The host ports that the pods of one node take, by key: one entry for each pod that takes it, on whatever address. */
export type PortsInUse = ReadonlyMap<string, readonly HostPort[]>;
export type PortsByKey = Map<string, HostPort[]>;

export function copyPorts(inUse: PortsInUse): PortsByKey {
  return new Map([...inUse].map(([key, ports]) => [key, [...ports]]));
}

export function addPorts(inUse: PortsByKey, ports: readonly HostPort[]): void {
  for (const port of ports) {
    const key = hostPortKey(port);
    const others = inUse.get(key);
    if (others) others.push(port);
    else inUse.set(key, [port]);
  }
}

/** Takes one entry away for each port. */
export function removePorts(inUse: PortsByKey, ports: readonly HostPort[]): void {
  for (const port of ports) {
    const key = hostPortKey(port);
    const left = inUse.get(key) ?? [];
    const at = left.findIndex(({ ip }) => ip === port.ip);
    if (at >= 0) left.splice(at, 1);
    if (left.length === 0) inUse.delete(key);
  }
}
