import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Identity } from '../authn/identity.ts';
import type { TokenTable } from '../authn/tokens.ts';
import { identify } from '../calls/identify.ts';
import type { TransportCall } from '../calls/transport-call.ts';
import type { ClientCertificates } from '../pki/client-certificates.ts';
import type { BodilessRequest } from './listener/http2-messages.ts';

export type HttpRequest = IncomingMessage | Http2ServerRequest | BodilessRequest;
/** Of HTTP/2 as well: what is used of it here is the same. */
export type HttpResponse = ServerResponse;

const none: readonly string[] = [];
/** Headers whose values Kubernetes' clients send as they are, and gRPC's percent-encoded. */
const plain = /^impersonate-(?:user|group|uid|extra-.+)$/;

/** A call over HTTP/1.1 or HTTP/2. */
export class HttpCall implements TransportCall {
  readonly method: string;
  readonly #request: HttpRequest;
  readonly #response: HttpResponse;
  /** What waits until the client has taken what was sent so far. */
  #taken: (() => void)[] = [];

  constructor(method: string, request: HttpRequest, response: HttpResponse) {
    this.method = method;
    this.#request = request;
    this.#response = response;
  }

  get isCancelled(): boolean {
    // Node ends the answer of a stream that its client resets, and so calls it finished.
    if ('stream' in this.#request) {
      const { stream } = this.#request;
      // The answer to a HEAD has no body, so Node has ended it from the start, and never calls it aborted.
      return stream.aborted || (this.#request.method === 'HEAD' && stream.destroyed && !this.#response.writableEnded);
    }
    return this.#response.destroyed && !this.#response.writableFinished;
  }

  header(name: string): readonly string[] {
    const value = this.#request.headers[name];
    if (value === undefined) return none;
    if (!plain.test(name)) return typeof value === 'string' ? [value] : value;
    // Node joins the values of a header that comes several times with commas, which may stand in them as well.
    const { rawHeaders } = this.#request;
    return rawHeaders.flatMap((key, index) =>
      index % 2 === 0 && key.toLowerCase() === name ? [encodeURIComponent(rawHeaders[index + 1] ?? '')] : [],
    );
  }

  headerNames(): readonly string[] {
    return Object.keys(this.#request.headers);
  }

  identify(tokens: TokenTable, clients?: ClientCertificates): Identity {
    const { headers } = this.#request;
    // Of HTTP/2, the socket of the session: that of a request would be made for each.
    const session = 'stream' in this.#request ? this.#request.stream.session : undefined;
    const socket = (session?.socket ?? this.#request.socket) as Partial<TLSSocket>;
    return identify({ key: session ?? this.#request.socket, socket }, headers.authorization, tokens, clients);
  }

  onCancelled(listener: () => void): () => void {
    const closed = (): void => {
      if (this.isCancelled) listener();
    };
    this.#response.on('close', closed);
    return () => void this.#response.removeListener('close', closed);
  }

  whenTaken(ms: number, done: () => void): void {
    if (this.#response.destroyed) {
      done();
      return;
    }
    const timer = setTimeout(() => this.#response.destroy(), ms);
    const once = (): void => {
      clearTimeout(timer);
      this.#response.removeListener('close', once);
      done();
    };
    this.#taken.push(once);
    this.#response.once('close', once);
  }

  /** What was sent so far has left this process. */
  taken(): void {
    const waiting = this.#taken;
    this.#taken = [];
    for (const each of waiting) each();
  }

  whenClosed(done: () => void): void {
    if (this.#response.destroyed) done();
    else this.#response.once('close', done);
  }
}
