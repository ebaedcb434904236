import { type WebSocket, WebSocketServer } from 'ws';
import { asApiError } from '../../../api/errors/index.ts';
import type { DoorWatchSink, EventWriting } from '../answers/watch-stream.ts';
import { statusOf } from '../errors/status-object.ts';
import type { Upgrade } from './upgrade.ts';
import { messagePieces } from './web-socket.ts';

/** A client of a watch has nothing to say but that it goes. */
const mostMessageBytes = 4 * 1024;

const server = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: mostMessageBytes,
  ...messagePieces,
  // As in Kubernetes, whatever the client calls it: there is one protocol for watches.
  handleProtocols: ([first]) => first ?? false,
});

/** Sends a watch over a WebSocket: a message for each event, text where events are JSON. */
export class SocketWatchSink implements DoorWatchSink {
  readonly #upgrade: Upgrade;
  readonly #writing: EventWriting;
  #ws: WebSocket | undefined;
  #begun = false;

  constructor(upgrade: Upgrade, writing: EventWriting) {
    this.#upgrade = upgrade;
    this.#writing = writing;
  }

  get begun(): boolean {
    return this.#begun;
  }

  begin(): void {
    this.#begun = true;
    const { request } = this.#upgrade;
    const { socket, head } = this.#upgrade.take();
    // The library answers a bad handshake by itself, and closes; otherwise it calls back at once.
    server.handleUpgrade(request, socket, head, (ws) => {
      this.#ws = ws;
      ws.on('error', () => ws.terminate());
    });
  }

  send(frame: Buffer, taken: () => void): void {
    const { translate, split } = this.#writing;
    const events = split(translate(frame));
    const last = events.pop();
    for (const event of events) this.#send(event);
    if (last) this.#send(last, taken);
  }

  cutOff(): void {
    this.#ws?.terminate();
  }

  end(error?: unknown): void {
    const known = error === undefined ? undefined : asApiError(error);
    if (known) for (const event of this.#writing.split(this.#writing.failure(statusOf(known)))) this.#send(event);
    this.#ws?.close(1000);
  }

  #send(event: Buffer, taken?: () => void): void {
    this.#ws?.send(event, { binary: !this.#writing.isText }, (error) => void (error ?? taken?.()));
  }
}
