import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { PortMapping } from '../runtime.ts';

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
