import type { Pod } from '../../generated/types.ts';

/** A port of the machine that a pod takes for itself. */
export interface HostPort {
  readonly port: number;
  /** TCP, UDP or SCTP. */
  readonly protocol: string;
  /** One address of the machine; empty for all of them. */
  readonly ip: string;
}

const none: readonly HostPort[] = [];
/**
 * All addresses of one family count as all addresses: the engine publishes a port without an address on both families.
 */
const everywhere: ReadonlySet<string> = new Set(['', '0.0.0.0', '::']);

/**
 * The ports of the machine that a pod takes while it runs, with or without a network of its own: those of its
 * containers and sidecars.
 */
export function hostPorts({ spec }: Pod): readonly HostPort[] {
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  let found: HostPort[] | undefined;
  for (const { ports } of [...(spec?.containers ?? []), ...sidecars])
    for (const { hostPort = 0, protocol = '', hostIP = '' } of ports ?? []) {
      if (hostPort === 0) continue;
      found ??= [];
      found.push({ port: hostPort, protocol: protocol || 'TCP', ip: everywhere.has(hostIP) ? '' : hostIP });
    }
  return found ?? none;
}

/** "8080/TCP": ports of different keys never clash. */
export function hostPortKey({ port, protocol }: HostPort): string {
  return `${port}/${protocol}`;
}

/** Two pods cannot have both on one machine: the same port and protocol on the same address, or on all of them. */
export function isSameHostPort(a: HostPort, b: HostPort): boolean {
  return a.port === b.port && a.protocol === b.protocol && (a.ip === '' || b.ip === '' || a.ip === b.ip);
}
