import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { PortTakenError } from '../../host-ports/host-ports.ts';
import type { ContainerIdentity, PortMapping } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';

/**
 * The first mapping whose port on the machine is in use. The engine reports a taken port like any other failure, in
 * words only, so the machine is asked instead: by binding the port for a moment.
 */
export async function findTakenPort(mappings: readonly PortMapping[]): Promise<PortMapping | undefined> {
  for (const mapping of mappings) if (await isTaken(mapping)) return mapping;
  return undefined;
}

async function isTaken(mapping: PortMapping): Promise<boolean> {
  if (mapping.protocol === 'sctp') return false;
  const address = mapping.hostIP === '' ? '0.0.0.0' : mapping.hostIP;
  try {
    await (mapping.protocol === 'udp' ? bindUdp(mapping.hostPort, address) : bindTcp(mapping.hostPort, address));
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
  }
}

async function bindTcp(port: number, host: string): Promise<void> {
  const server = createServer();
  server.listen({ port, host, exclusive: true });
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}

async function bindUdp(port: number, address: string): Promise<void> {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  socket.bind({ port, address, exclusive: true });
  await once(socket, 'listening');
  socket.close();
  await once(socket, 'close');
}

export function nameOf(identity: ContainerIdentity): string {
  return `${identity.podNamespace}/${identity.podName}/${identity.containerName}`;
}

/**
 * In words of our own: the engine's name an endpoint that is another with each try,
 * so that equal failures would not be counted as one event.
 */
export function portInUse(identity: ContainerIdentity, mapping: PortMapping, forgotten: boolean, cause: unknown): RuntimeError {
  const why = forgotten
    ? 'is still held by the engine for a container that is gone, as happens when it was killed; restart the engine to free it'
    : 'is in use on this machine';
  return new RuntimeError('port-in-use', `start container ${nameOf(identity)}: ${portName(mapping)} ${why}`, { cause });
}

/** A port that the agent itself could not take. */
export function portUnavailable(identity: ContainerIdentity, error: PortTakenError): RuntimeError {
  if (error.code === 'EADDRINUSE') return portInUse(identity, error.mapping, false, error);
  const why = error.code === 'EADDRNOTAVAIL' ? 'this machine has no such address' : `it cannot be taken (${error.message})`;
  const words = `start container ${nameOf(identity)}: ${portName(error.mapping)}: ${why}`;
  return new RuntimeError('failed', words, { cause: error });
}

const portName = ({ hostIP, hostPort, protocol }: PortMapping): string =>
  `host port ${hostIP === '' ? '' : `${hostIP}:`}${hostPort}/${protocol.toUpperCase()}`;
