import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import type { Meter } from './meter.ts';
import { later, type Responder } from './responder.ts';
import type { SourceLimits } from './source-limits.ts';
import { maxUdpSize } from './wire.ts';

/** What both transports need. */
export interface TransportOptions {
  readonly responder: Responder;
  readonly limits: SourceLimits;
  readonly meter: Meter;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

export interface Transport {
  readonly port: number;
  close(): Promise<void>;
}

/** Queries that arrive while the thread is busy; the kernel doubles it, and caps it at net.core.rmem_max. */
const receiveBytes = 4_000_000;
/** Answers that the kernel does not take (its own buffer is full) are dropped above this; clients ask again. */
const maxUnsentBytes = 1_000_000;

/** Answers queries over UDP. Rejects when the address cannot be bound. */
export async function serveUdp(address: string, port: number, options: TransportOptions): Promise<Transport> {
  const type = isIPv6(address) ? 'udp6' : 'udp4';
  // Every destination is an address already; looking it up would cost each answer a turn of the event loop.
  const socket = createSocket({ type, lookup: (host, _, done) => done(null, host, type === 'udp6' ? 6 : 4) });
  const listening = once(socket, 'listening');
  socket.bind(port, address);
  await listening;
  setReceiveBuffer(socket);
  answerQueries(socket, options);
  return {
    port: socket.address().port,
    close: () => new Promise((resolve) => socket.close(resolve)),
  };
}

function setReceiveBuffer(socket: Socket): void {
  try {
    socket.setRecvBufferSize(receiveBytes);
  } catch {
    // Some kernels refuse more than their bound instead of capping it; their default then has to do.
  }
}

/** What of a bound socket is used. */
export type QuerySocket = Pick<Socket, 'on' | 'send' | 'getSendQueueSize' | 'getSendQueueCount'>;

export function answerQueries(socket: QuerySocket, { responder, limits, meter, now }: TransportOptions): void {
  let out = Buffer.allocUnsafeSlow(maxUdpSize);
  const send = (response: Buffer, length: number, port: number, address: string): void => {
    if (socket.getSendQueueSize() > maxUnsentBytes) meter.dropped('unsent');
    // Without a callback an error of one destination would be one of the socket.
    else socket.send(response, 0, length, port, address, ignoreError);
  };
  // An error of a socket that only listens is that of an answer sent; clients ask again.
  socket.on('error', () => meter.dropped('unsent'));
  socket.on('message', (message, { address, port }) => {
    // Forged: there is no such port to answer to, and Node.js would throw.
    if (port === 0) return meter.dropped('malformed');
    if (!limits.take(address, now())) return meter.dropped('rate');
    const length = responder.respond(message, address, false, out);
    if (length > 0) {
      send(out, length, port, address);
      // The kernel did not take it at once: the socket keeps the buffer until then.
      if (socket.getSendQueueCount() > 0) out = Buffer.allocUnsafeSlow(maxUdpSize);
    } else if (length === later) {
      const task = responder.takeTask();
      if (!limits.wait(address)) return meter.dropped('busy');
      responder.complete(task, (response) => {
        limits.done(address);
        send(Buffer.from(response), response.length, port, address);
      });
    }
  });
}

function ignoreError(): void {}
