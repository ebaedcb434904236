import type { RawData, WebSocket } from 'ws';
import { sendMessage } from './web-socket.ts';

/** A connection from which nothing is read does not tell that its client has gone, until something is written. */
const probeMs = 5_000;
/** In text, a channel is a digit, or a character behind them. */
const ZERO = 48;

export interface ChannelOptions {
  readonly isBase64: boolean;
  readonly signal: AbortSignal;
}

/** A WebSocket whose messages begin with the number of a channel; in base64 for clients that know text alone. */
export class ChannelSocket {
  readonly #ws: WebSocket;
  readonly #signal: AbortSignal;
  readonly #isBase64: boolean;
  #unread = 0;
  #probe: NodeJS.Timeout | undefined;

  /** Reads from now on. `receive` resolves when the reader has taken the bytes; until then nothing more is read. */
  constructor(
    ws: WebSocket,
    { isBase64, signal }: ChannelOptions,
    receive: (channel: number, bytes: Buffer) => Promise<void> | undefined,
  ) {
    this.#ws = ws;
    this.#signal = signal;
    this.#isBase64 = isBase64;
    ws.on('message', (data: RawData) => {
      const message = data as Buffer;
      const [first] = message;
      if (first === undefined) return;
      const rest = message.subarray(1);
      const taken = this.#isBase64 ? receive(first - ZERO, Buffer.from(rest.toString('latin1'), 'base64')) : receive(first, rest);
      if (taken) void this.#holdUntil(taken);
    });
    ws.on('close', () => clearInterval(this.#probe));
    ws.resume();
  }

  async #holdUntil(taken: Promise<void>): Promise<void> {
    this.#unread++;
    this.#ws.pause();
    this.#probe ??= setInterval(() => this.#ws.ping(() => {}), probeMs);
    await taken;
    this.#unread--;
    if (this.#unread > 0) return;
    clearInterval(this.#probe);
    this.#probe = undefined;
    this.#ws.resume();
  }

  /**
   * Resolves when the bytes have left this process. Throws UNAVAILABLE when the server stops before (`last` ones go out
   * even then), CANCELLED without a client.
   */
  async send(channel: number, bytes: Uint8Array, last = false): Promise<void> {
    const message = this.#isBase64
      ? `${String.fromCharCode(ZERO + channel)}${Buffer.from(bytes).toString('base64')}`
      : Buffer.concat([Buffer.from([channel]), bytes]);
    await sendMessage(this.#ws, message, last && this.#signal.aborted ? undefined : this.#signal);
  }

  close(): void {
    this.#ws.close(1000);
    // The answer to the close is of interest, not what else comes.
    this.#ws.resume();
  }
}
