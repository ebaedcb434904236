import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import type { Duplex } from 'node:stream';
import { startTimeout } from '../../../api/meta/timeout.ts';
import { overTls } from '../../tunnel/over-tls.ts';
import { requireAnswer } from '../../tunnel/require-answer.ts';
import { Places } from './places.ts';
import { WebhookFailure } from './review.ts';

/** Where a webhook is, and how it is reached. */
export interface WebhookTarget {
  /** Begins with "https://"; failures name it. */
  readonly url: string;
  /** The authorities that its certificate is checked by; absent: those of the system. */
  readonly ca: Buffer | undefined;
  /** Opens a connection to it; absent: TCP to the host of the URL. */
  readonly dial?: ((signal: AbortSignal) => Promise<Duplex>) | undefined;
}

/** Calls, and so connections, of one webhook at a time. */
const MOST_CALLS = 32;
/** Connections that are kept for later calls, and for how long. */
const MOST_KEPT = 4;
const KEPT_MS = 30_000;
/** The library does not say when a call that a connection was opened for is over. */
const DIAL_MS = 30_000;
/** The words by which Kubernetes' clients know that a time was over. */
const DEADLINE = 'context deadline exceeded';
/** More than a patch of the largest object takes, as base64. */
const MOST_BYTES = 3 * 1024 * 1024;

export interface WebhookClientOptions {
  /** Of an answer. */
  readonly mostBytes: number;
  /** What failures of the call begin with. */
  readonly prefix: string;
}

const admission: WebhookClientOptions = { mostBytes: MOST_BYTES, prefix: 'failed to call webhook: ' };

/** Calls one webhook over HTTPS, with connections that are kept. */
export class WebhookClient {
  readonly #target: WebhookTarget;
  readonly #places = new Places(MOST_CALLS);
  readonly #agent: Agent;
  readonly #options: WebhookClientOptions;
  #isClosed = false;

  constructor(target: WebhookTarget, options = admission) {
    this.#target = target;
    this.#options = options;
    const { hostname } = new URL(target.url);
    const servername = hostname.replace(/^\[|\]$/g, '');
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets: MOST_CALLS,
      maxFreeSockets: MOST_KEPT,
      timeout: KEPT_MS,
      minVersion: 'TLSv1.2',
      ...(target.ca && { ca: target.ca }),
    });
    const { dial } = target;
    if (dial) this.#agent.createConnection = dialling(dial, servername, target.ca) as Agent['createConnection'];
  }

  /**
   * Sends a text, which is made when there is a place for the call, and gives the answer's. Throws WebhookFailure: the
   * time is over, the connection or its TLS fails, the answer is another status than 200 or too large.
   */
  async call(makeText: () => string, timeoutMs: number, signal?: AbortSignal): Promise<string> {
    const post = (why: string): WebhookFailure =>
      new WebhookFailure(`${this.#options.prefix}Post "${this.#address(timeoutMs)}": ${why}`);
    const ended = new AbortController();
    const late = (): void => ended.abort(post(`${DEADLINE}: no answer within ${seconds(timeoutMs)} (timeoutSeconds)`));
    const gone = (): void => ended.abort(signal?.reason);
    const timer = setTimeout(late, timeoutMs);
    signal?.addEventListener('abort', gone, { once: true });
    if (signal?.aborted) gone();
    try {
      return await this.#places.take(ended.signal, () => this.#post(makeText(), timeoutMs, ended.signal));
    } catch (error) {
      if (ended.signal.aborted) throw ended.signal.reason;
      throw error instanceof WebhookFailure ? error : post(wordsOf(error));
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', gone);
      if (this.#isClosed) this.close();
    }
  }

  /** Closes the connections, once no call is under way. */
  close(): void {
    this.#isClosed = true;
    if (this.#places.taken === 0) this.#agent.destroy();
  }

  async #post(text: string, timeoutMs: number, signal: AbortSignal): Promise<string> {
    try {
      return await this.#send(text, timeoutMs, signal);
    } catch (error) {
      // The peer has closed a kept connection in the moment in which it was used again.
      if (!(error instanceof StaleConnection) || signal.aborted) throw error;
      return await this.#send(text, timeoutMs, signal);
    }
  }

  /** With how long it may take, as Kubernetes tells webhooks. */
  #address(timeoutMs: number): URL {
    const url = new URL(this.#target.url);
    url.searchParams.set('timeout', seconds(timeoutMs));
    return url;
  }

  #send(text: string, timeoutMs: number, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    const url = this.#address(timeoutMs);
    return new Promise((resolve, reject) => {
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json',
        'content-length': Buffer.byteLength(text),
      };
      const sent: ClientRequest = request(url, { method: 'POST', agent: this.#agent, headers, signal }, (response) => {
        readAnswer(response, this.#options.mostBytes).then(resolve, (error: unknown) => {
          sent.destroy();
          reject(error);
        });
      });
      requireAnswer(sent, reject);
      sent.on('error', (error: NodeJS.ErrnoException) => {
        const isStale = sent.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
        reject(isStale ? new StaleConnection(error.message) : error);
      });
      sent.end(text);
    });
  }
}

class StaleConnection extends Error {
  override readonly name = 'StaleConnection';
}

async function readAnswer(response: IncomingMessage, mostBytes: number): Promise<string> {
  const { statusCode = 0, statusMessage = '' } = response;
  if (statusCode !== 200)
    throw new WebhookFailure(`the webhook answered with status ${statusCode} ${statusMessage.slice(0, 80)}`);
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > mostBytes) throw new WebhookFailure(`the answer has more than ${mostBytes} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

type Connected = (error: Error | null, socket?: Duplex) => void;

/** TLS over a connection that is opened otherwise than by TCP. */
function dialling(dial: NonNullable<WebhookTarget['dial']>, servername: string, ca: Buffer | undefined) {
  return (_options: object, connected: Connected): void => {
    const late = startTimeout(DIAL_MS);
    const dialled = dial(late.signal).finally(late.clear);
    dialled.then(
      (socket) => connected(null, overTls(socket, { servername, minVersion: 'TLSv1.2', ...(ca && { ca }) })),
      (error: unknown) => connected(error as Error),
    );
  };
}

const seconds = (ms: number): string => `${Math.ceil(ms / 1000)}s`;

/** The cause in words; of several addresses that were tried, all. */
function wordsOf(error: unknown): string {
  const { message, code, errors } = error as NodeJS.ErrnoException & { readonly errors?: readonly Error[] };
  if (message) return message;
  return errors?.map((each) => each.message).join('; ') || code || 'the connection failed';
}
