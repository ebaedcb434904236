import type { Socket } from 'node:net';
import type { PortForwardStream } from '../../client/index.ts';
import { writeAll } from '../logs/log-output.ts';

/**
 * Joins a connection here with one to the pod until both directions have ended.
 * Throws ApiError when the pod's side fails.
 */
export async function joinConnection(socket: Socket, stream: PortForwardStream): Promise<void> {
  const leave = (): void => stream.close();
  // The local client has gone, which is no error.
  let left = false;
  socket.on('error', () => {
    left = true;
    leave();
  });
  try {
    const sending = sendAll(socket, stream);
    sending.catch(() => {});
    for await (const data of stream.output()) await writeAll(socket, data);
    socket.end();
    await Promise.race([sending, aborted(stream.closed)]);
  } catch (error) {
    if (!left && !socket.destroyed) throw error;
  } finally {
    socket.destroy();
    stream.close();
  }
}

async function sendAll(socket: Socket, stream: PortForwardStream): Promise<void> {
  for await (const data of socket.iterator({ destroyOnReturn: false })) await stream.write(data as Buffer);
  stream.end();
  // The pod decides when it is over.
  await aborted(stream.closed);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
