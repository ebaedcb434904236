import type { IncomingMessage } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';
import { badRequest, callCancelled } from '../../../api/errors/index.ts';
import { stopping } from '../../tunnel/forward.ts';
import type { Upgrade } from './upgrade.ts';

/** Clients send pieces of 32 KiB; one message is all that is held of a client. */
const mostMessageBytes = 1024 * 1024;
/** Pieces of a message, and of what comes of it over the network: each takes memory besides its bytes. */
export const messagePieces = { maxFragments: 1_024, maxBufferedChunks: 4_096 };
const PROTOCOL_HEADER = 'sec-websocket-protocol';

/** Answers requests by WebSockets of these subprotocols, the best first. */
export class WebSocketDoor {
  readonly #protocols: readonly string[];
  readonly #server: WebSocketServer;
  /** Chosen here, since the library refuses names with "/", as one of Kubernetes' has it. */
  readonly #chosen = new WeakMap<IncomingMessage, string>();

  constructor(protocols: readonly string[]) {
    this.#protocols = protocols;
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: mostMessageBytes,
      ...messagePieces,
    });
    this.#server.on('headers', (lines: string[], request: IncomingMessage) => {
      const protocol = this.#chosen.get(request);
      if (protocol) lines.push(`Sec-WebSocket-Protocol: ${protocol}`);
    });
  }

  /** The subprotocol, "" where the client names none. Throws BAD_REQUEST where it speaks none of them. */
  protocolOf({ request }: Upgrade): string {
    const text = request.headers[PROTOCOL_HEADER] ?? '';
    if (text === '') return '';
    const offered = text.split(',').map((each) => each.trim());
    const chosen = this.#protocols.find((each) => offered.includes(each));
    if (chosen !== undefined) return chosen;
    throw badRequest(
      `the server speaks none of the subprotocols "${text.slice(0, 200)}": offer one of ${this.#protocols.join(', ')}`,
    );
  }

  /**
   * With the subprotocol that `protocolOf` gave; paused, so that its first messages find their listeners. Throws
   * CANCELLED for a bad handshake, which the library answers.
   */
  async open(upgrade: Upgrade, protocol: string): Promise<WebSocket> {
    const { request } = upgrade;
    this.#chosen.set(request, protocol);
    delete request.headers[PROTOCOL_HEADER];
    const { socket, head } = upgrade.take();
    // It does not tell of its end again.
    if (socket.destroyed) throw callCancelled();
    const opened = new Promise<WebSocket>((resolve) =>
      this.#server.handleUpgrade(request, socket, head, (ws) => {
        ws.on('error', () => ws.terminate());
        ws.pause();
        resolve(ws);
      }),
    );
    const closed = new Promise<undefined>((resolve) => socket.once('close', () => resolve(undefined)));
    const ws = await Promise.race([opened, closed]);
    if (!ws) throw callCancelled();
    return ws;
  }
}

/**
 * Sends text or bytes; resolves when they have left this process. Throws UNAVAILABLE when the signal aborts before,
 * CANCELLED without a client.
 */
export function sendMessage(ws: WebSocket, message: string | Uint8Array, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = (): void => reject(stopping());
    if (signal?.aborted) return aborted();
    signal?.addEventListener('abort', aborted);
    ws.send(message, { binary: typeof message !== 'string' }, (error) => {
      signal?.removeEventListener('abort', aborted);
      if (error) reject(callCancelled());
      else resolve();
    });
  });
}
