import type { WebSocket } from 'ws';
import { callCancelled } from '../../../api/errors/index.ts';
import type { Upgrade } from './upgrade.ts';
import { sendMessage, WebSocketDoor } from './web-socket.ts';

const BASE64 = 'base64.binary.k8s.io';
const door = new WebSocketDoor(['binary.k8s.io', BASE64]);

/** Throws BAD_REQUEST where the client speaks none of the subprotocols. */
export const checkLogProtocols = (upgrade: Upgrade): string => door.protocolOf(upgrade);

/** A log over a WebSocket: messages of bytes, or of text in base64 for clients that know text alone. */
export class LogSocket {
  readonly #upgrade: Upgrade;
  readonly #signal: AbortSignal;
  readonly #isBase64: boolean;
  #ws: WebSocket | undefined;

  constructor(upgrade: Upgrade, signal: AbortSignal) {
    this.#upgrade = upgrade;
    this.#signal = signal;
    this.#isBase64 = door.protocolOf(upgrade) === BASE64;
  }

  /** Answers the request. Clients take the first message, though it is empty, for the beginning. */
  async begin(): Promise<void> {
    if (this.#ws) return;
    this.#ws = await door.open(this.#upgrade, door.protocolOf(this.#upgrade));
    // Messages of the client are discarded; its close is not.
    this.#ws.resume();
    await this.send(Buffer.alloc(0));
  }

  /**
   * Resolves when the bytes have left this process. Throws UNAVAILABLE when the server stops before, CANCELLED without
   * a client.
   */
  async send(bytes: Uint8Array): Promise<void> {
    if (!this.#ws) throw callCancelled();
    const message = this.#isBase64 ? Buffer.from(bytes).toString('base64') : bytes;
    await sendMessage(this.#ws, message, this.#signal);
  }

  end(): void {
    this.#ws?.close(1000);
  }

  /** After what cannot be told any more. */
  cutOff(): void {
    this.#ws?.terminate();
  }
}
