import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { later, type Task } from './responder.ts';
import type { Transport, TransportOptions } from './serve-udp.ts';
import { headerSize, maxMessageSize } from './wire.ts';

export interface TcpLimits {
  readonly maxConnections: number;
  readonly maxConnectionsPerSource: number;
  /**
   * A connection without a query is closed after so long (RFC 7766 asks for seconds), and one that reads no answers.
   */
  readonly idleMs: number;
  /** A query over TCP is no larger; the question and EDNS have less than a tenth of it. */
  readonly maxQueryBytes: number;
  /** Queries of a connection that wait for upstream servers; further ones are not read. */
  readonly maxWaiting: number;
  /** Answers that a connection has not taken; further queries are not read. */
  readonly maxUnsentBytes: number;
}

export const defaultTcpLimits: TcpLimits = {
  maxConnections: 256,
  maxConnectionsPerSource: 32,
  idleMs: 10_000,
  maxQueryBytes: 4096,
  maxWaiting: 32,
  maxUnsentBytes: 262_144,
};

export interface TcpOptions extends TransportOptions {
  readonly tcp: TcpLimits;
}

/**
 * Answers queries over TCP, several of one connection in the order in which they can be. Rejects when it cannot bind.
 */
export async function serveTcp(address: string, port: number, options: TcpOptions): Promise<Transport> {
  const { tcp } = options;
  const bySource = new Map<string, number>();
  const connections = new Set<Socket>();
  const out = Buffer.allocUnsafeSlow(maxMessageSize);
  const server = createServer({ noDelay: true }, (socket) => {
    const source = socket.remoteAddress ?? '';
    const count = bySource.get(source) ?? 0;
    if (source === '' || count >= tcp.maxConnectionsPerSource) return socket.destroy();
    bySource.set(source, count + 1);
    connections.add(socket);
    socket.once('close', () => {
      connections.delete(socket);
      const left = bySource.get(source)! - 1;
      if (left > 0) bySource.set(source, left);
      else bySource.delete(source);
    });
    new Connection(socket, source, options, out).run();
  });
  server.maxConnections = tcp.maxConnections;
  server.listen(port, address);
  await once(server, 'listening');
  server.on('error', () => options.meter.dropped('busy'));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of connections) socket.destroy();
      }),
  };
}

/** One connection: reads queries while neither too many wait nor too much is unsent. */
class Connection {
  readonly #socket: Socket;
  readonly #source: string;
  readonly #options: TcpOptions;
  readonly #out: Buffer;
  #unread: Buffer = Buffer.alloc(0);
  #waiting = 0;

  constructor(socket: Socket, source: string, options: TcpOptions, out: Buffer) {
    this.#socket = socket;
    this.#source = source;
    this.#options = options;
    this.#out = out;
  }

  run(): void {
    const socket = this.#socket;
    // Idle is what moves no byte; a query that waits longer than this has been given up by its client.
    socket.setTimeout(this.#options.tcp.idleMs, () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk) => {
      this.#unread = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
      this.#readOn();
    });
    socket.on('drain', () => this.#readOn());
  }

  #readOn(): void {
    const socket = this.#socket;
    while (!socket.destroyed && this.#unread.length >= 2) {
      if (this.#isFull()) return void socket.pause();
      const length = this.#unread.readUInt16BE(0);
      if (length < headerSize || length > this.#options.tcp.maxQueryBytes) {
        this.#options.meter.dropped('malformed');
        return void socket.destroy();
      }
      if (this.#unread.length < 2 + length) break;
      const message = this.#unread.subarray(2, 2 + length);
      this.#unread = this.#unread.subarray(2 + length);
      this.#answer(message);
    }
    if (!socket.destroyed) socket.resume();
  }

  #isFull(): boolean {
    const { maxWaiting, maxUnsentBytes } = this.#options.tcp;
    return this.#waiting >= maxWaiting || this.#socket.writableLength > maxUnsentBytes;
  }

  #answer(message: Buffer): void {
    const { responder, limits, meter, now } = this.#options;
    // Over the bound the connection goes, so that its client does not wait for an answer.
    if (!limits.take(this.#source, now())) {
      meter.dropped('rate');
      return void this.#socket.destroy();
    }
    const length = responder.respond(message, this.#source, true, this.#out);
    if (length > 0) this.#send(this.#out.subarray(0, length));
    else if (length === later) this.#answerLater(responder.takeTask());
    else this.#socket.destroy();
  }

  #answerLater(task: Task): void {
    const { responder, limits, meter } = this.#options;
    if (!limits.wait(this.#source)) {
      meter.dropped('busy');
      return void this.#socket.destroy();
    }
    this.#waiting++;
    responder.complete(task, (response) => {
      limits.done(this.#source);
      this.#waiting--;
      this.#send(response);
      if (this.#socket.isPaused()) this.#readOn();
    });
  }

  /** Its own copy, with the length before it: the socket may keep it. */
  #send(response: Buffer): void {
    if (this.#socket.destroyed) return;
    const framed = Buffer.allocUnsafe(2 + response.length);
    framed.writeUInt16BE(response.length, 0);
    response.copy(framed, 2);
    this.#socket.write(framed);
  }
}
