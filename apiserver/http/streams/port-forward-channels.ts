import type { WebSocket } from 'ws';
import { abortable } from '../../tunnel/abortable.ts';
import { stopping } from '../../tunnel/forward.ts';
import { ChannelSocket } from './channel-socket.ts';
import { InputQueue } from './input-queue.ts';
import { type Forwarding, forwardConnection } from './port-forwarding.ts';

export interface ForwardedChannels {
  readonly ws: WebSocket;
  readonly isBase64: boolean;
  readonly ports: readonly number[];
}

/**
 * Forwards one connection to each port as channels of a WebSocket: for data 0, 2, ..., for errors the next of each;
 * both begin with the port. Ends with the last connection.
 */
export async function forwardChannels(forwarding: Forwarding, { ws, isBase64, ports }: ForwardedChannels): Promise<void> {
  const clients = ports.map(() => new ChannelInput());
  const socket = new ChannelSocket(ws, { isBase64, signal: forwarding.signal }, (channel, bytes) => {
    const client = channel % 2 === 0 ? clients[channel / 2] : undefined;
    return bytes.length > 0 ? client?.queue.push(bytes) : undefined;
  });
  ws.on('close', () => {
    for (const client of clients) client.cut();
  });
  const forwardPort = async (port: number, index: number): Promise<void> => {
    const name = Buffer.alloc(2);
    name.writeUInt16LE(port);
    await socket.send(2 * index, name);
    await socket.send(2 * index + 1, name);
    const client = clients[index]!;
    const failure = await forwardConnection(forwarding, port, {
      input: () => client.queue.frames(),
      get isReset() {
        return client.isReset;
      },
      whenReset: (listener) => client.whenReset(listener),
      write: (bytes) => socket.send(2 * index, bytes),
    });
    client.queue.cut();
    if (failure !== undefined) await socket.send(2 * index + 1, Buffer.from(failure));
  };
  try {
    await abortable(Promise.all(ports.map(forwardPort)), forwarding.signal, stopping);
  } finally {
    socket.close();
  }
}

/** What a client sends to one port. */
class ChannelInput {
  readonly queue = new InputQueue();
  #isReset = false;
  #onReset = (): void => {};

  get isReset(): boolean {
    return this.#isReset;
  }

  whenReset(listener: () => void): void {
    if (this.#isReset) listener();
    else this.#onReset = listener;
  }

  cut(): void {
    this.#isReset = true;
    this.queue.cut();
    this.#onReset();
  }
}
