import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { badRequest } from '../../../api/errors/index.ts';
import { HttpCall, type HttpRequest, type HttpResponse } from '../http-call.ts';
import { GatheredBytes } from '../listener/gathered-bytes.ts';
import { takeBearerProtocol } from './bearer-protocol.ts';

/** So long a client has to read a refusal. */
const takeMs = 30_000;
/** So long it has to end its side behind it. */
const lingerMs = 1_000;

/** What a client may send behind its request before that is answered; clients send nothing. In bytes. */
const mostEarly = 64 * 1024;

/** A connection that was given away. */
export interface TakenConnection {
  readonly socket: Socket;
  /** What the client has sent behind its request. */
  readonly head: Buffer;
}

/** A request to switch the protocol of its connection. Until it is granted, it is answered over HTTP. */
export class Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  readonly response: ServerResponse;
  readonly #early = new GatheredBytes();
  readonly #read = (piece: Buffer): void => this.#keep(piece);
  #isSwitched = false;
  #isTooEarly = false;

  constructor(request: IncomingMessage, socket: Socket, head: Buffer) {
    this.request = request;
    this.socket = socket;
    this.response = new ServerResponse(request);
    this.response.assignSocket(socket);
    // Nothing reads further requests from this connection.
    this.response.shouldKeepAlive = false;
    // A client that does not take the answer, or does not end its side behind it, would keep the connection.
    this.response.once('prefinish', () => {
      if (!this.#isSwitched) this.#endWithin(takeMs);
    });
    this.response.once('finish', () => {
      if (this.#isSwitched) return;
      socket.end();
      this.#endWithin(lingerMs);
      socket.resume();
    });
    takeBearerProtocol(request.headers);
    socket.on('error', () => {});
    this.#keep(head);
    // A connection that is not read does not tell that its client has gone.
    socket.on('data', this.#read);
    // One that is gone already tells nothing more of its end.
    if (socket.destroyed) this.response.destroy();
  }

  #keep(piece: Buffer): void {
    if (this.#early.length + piece.length > mostEarly) this.#isTooEarly = true;
    if (this.#isTooEarly) this.#early.take();
    else this.#early.add(piece);
  }

  #endWithin(ms: number): void {
    const timer = setTimeout(() => this.socket.destroy(), ms).unref();
    this.socket.once('close', () => clearTimeout(timer));
  }

  /** Whether the connection speaks the other protocol, in which errors are told from then on. */
  get isSwitched(): boolean {
    return this.#isSwitched;
  }

  /** What the client wants, in lower case: "websocket", "spdy/3.1". */
  get protocol(): string {
    return this.request.headers.upgrade?.toLowerCase() ?? '';
  }

  get isSpdy(): boolean {
    return this.protocol === 'spdy/3.1';
  }

  /** Takes the connection, which is ended where too much came too early; the caller answers the request on it. */
  take(): TakenConnection {
    const { socket } = this;
    this.#isSwitched = true;
    this.response.detachSocket(socket);
    socket.removeListener('data', this.#read);
    socket.pause();
    // As Node gives it away: what listens to it starts it.
    Object.assign(socket, { readableFlowing: null });
    if (this.#isTooEarly) socket.destroy();
    return { socket, head: this.#early.take() };
  }
}

/** A call whose connection may be taken from its answer: it lasts as long as the connection. */
export class UpgradeCall extends HttpCall {
  readonly #socket: Socket;

  constructor(method: string, { request, response, socket }: Upgrade) {
    super(method, request as HttpRequest, response as HttpResponse);
    this.#socket = socket;
  }

  override get isCancelled(): boolean {
    return this.#socket.destroyed;
  }

  override onCancelled(listener: () => void): () => void {
    this.#socket.on('close', listener);
    return () => void this.#socket.removeListener('close', listener);
  }
}

/** Throws BAD_REQUEST for a request that does not want another protocol, or one that is not spoken. */
export function requireUpgrade(upgrade: Upgrade | undefined): Upgrade {
  if (upgrade?.isSpdy || upgrade?.protocol === 'websocket') return upgrade;
  throw badRequest('Upgrade request required: send "Connection: Upgrade" and "Upgrade: websocket" or "Upgrade: SPDY/3.1"');
}
