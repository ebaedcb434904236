import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { PortMapping } from '../runtime/runtime.ts';

/** A port of the machine that is taken until it is let go. */
export interface PortHold {
  release(): void;
}

/** Takes a port of the machine, or throws what the kernel says (EADDRINUSE, EADDRNOTAVAIL). */
export function holdPort({ protocol, hostIP, hostPort: port }: PortMapping): Promise<PortHold> {
  const host = hostIP === '' ? '0.0.0.0' : hostIP;
  return protocol === 'udp' ? holdUdp(port, host) : holdTcp(port, host);
}

async function holdTcp(port: number, host: string): Promise<PortHold> {
  // The table leads connections to the pod. What comes here came while the table was away.
  const server = createServer((socket) => socket.on('error', () => {}).resetAndDestroy());
  server.listen({ port, host, exclusive: true });
  await once(server, 'listening');
  // The last connections of a burst may fail after the server has begun.
  server.on('error', () => {});
  server.unref();
  return { release: () => void server.close() };
}

async function holdUdp(port: number, address: string): Promise<PortHold> {
  const socket = createSocket('udp4');
  socket.bind({ port, address, exclusive: true });
  try {
    await once(socket, 'listening');
  } catch (error) {
    // Unlike a server, it stays open when it cannot be bound.
    socket.close();
    throw error;
  }
  socket.on('error', () => {});
  socket.unref();
  return { release: () => void socket.close() };
}
