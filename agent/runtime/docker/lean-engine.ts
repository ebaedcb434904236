import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createLimit, type Limit } from '../../limit.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { Engine, EngineCall } from './engine.ts';
import { codeForStatus, translate } from './errors.ts';
import { exchange, type LeanAnswer, openSocket, readHead, requestBytes } from './lean-connection.ts';

/** The part of the engine's API with complete (not streamed) responses. */
export interface LeanEngine extends Pick<Engine, 'call' | 'hijack' | 'close'> {
  /** Takes a connection over without looking at it: nothing is read, and no time spent, before the first read. */
  hijackUnread(call: EngineCall): Promise<UnreadConnection>;
}

/** A connection on which a request was sent that may not be answered yet, or may have been refused. */
export interface UnreadConnection {
  /** What `hijack` gives. At most once. */
  read(): Promise<Duplex>;
  destroy(): void;
}

export interface LeanEngineOptions {
  readonly socketPath: string;
  readonly apiVersion: () => Promise<string>;
  /** Of a call that names none. */
  readonly timeoutMs?: number | undefined;
  /** Calls under way at once, slow ones aside; by default as many as there are. */
  readonly atOnce?: number;
}

// More at once are rare; their connections are closed again.
const keptConnections = 16;
const defaultTimeoutMs = 30_000;
const lastGoodStatus = 299;
const switchingProtocols = 101;

/**
 * The engine over a Unix socket, spoken to with as little work as HTTP allows: half of what the general client costs,
 * which counts because probes call it for as long as a pod runs, and a node that starts many pods at once has no
 * processor to spare. `isLean` says which calls are for here.
 */
export function createLeanEngine(options: LeanEngineOptions): LeanEngine {
  return new LeanCalls(options);
}

class LeanCalls implements LeanEngine {
  readonly #options: LeanEngineOptions;
  readonly #free: Socket[] = [];
  readonly #limit: Limit | undefined;

  constructor(options: LeanEngineOptions) {
    this.#options = options;
    this.#limit = options.atOnce === undefined ? undefined : createLimit(options.atOnce);
  }

  async call<T>(call: EngineCall): Promise<T> {
    try {
      const request = await this.#requestOf(call);
      const run = () => this.#ask(request, call);
      const { status, body } = await (this.#limit === undefined || call.slow ? run() : this.#limit(run));
      if (status > lastGoodStatus && !call.accept?.includes(status)) throw refusal(call, status, body);
      return (body === '' ? undefined : JSON.parse(body)) as T;
    } catch (error) {
      throw translate(error, call.action, call.subject ?? 'container');
    }
  }

  async hijack(call: EngineCall): Promise<Duplex> {
    return (await this.hijackUnread(call)).read();
  }

  async hijackUnread(call: EngineCall): Promise<UnreadConnection> {
    const request = await this.#requestOf(call);
    const socket = openSocket(this.#options.socketPath).pause();
    socket.write(request);
    return {
      destroy: () => void socket.destroy(),
      read: async () => {
        try {
          const { status } = await within({ timeoutMs: this.#options.timeoutMs, ...call }, socket, () => readHead(socket));
          if (status > lastGoodStatus || (status < 200 && status !== switchingProtocols))
            throw refusal(call, status, await readText(socket));
          return socket;
        } catch (error) {
          socket.destroy();
          throw translate(error, call.action, call.subject ?? 'container');
        }
      },
    };
  }

  close(): void {
    for (const socket of this.#free.splice(0)) socket.destroy();
  }

  #take(): { socket: Socket; isKept: boolean } {
    for (let socket = this.#free.pop(); socket !== undefined; socket = this.#free.pop())
      if (!socket.destroyed && socket.writable) return { socket: socket.ref(), isKept: true };
    return { socket: openSocket(this.#options.socketPath), isKept: false };
  }

  #giveBack(socket: Socket, { reusable }: LeanAnswer): void {
    if (!reusable || socket.destroyed || this.#free.length >= keptConnections) socket.destroy();
    // An idle connection keeps no program alive.
    else this.#free.push(socket.unref());
  }

  async #ask(request: string, call: EngineCall): Promise<LeanAnswer> {
    const { socket, isKept } = this.#take();
    try {
      const answer = await within({ timeoutMs: this.#options.timeoutMs, ...call }, socket, () => exchange(socket, request));
      this.#giveBack(socket, answer);
      return answer;
    } catch (error) {
      socket.destroy();
      // The engine closes idle connections; a request without any response is retried on a new one.
      const unanswered = (error as { answered?: boolean }).answered === false;
      if (isKept && unanswered) return this.#ask(request, call);
      throw error;
    }
  }

  async #requestOf({ method, path, query, body }: EngineCall): Promise<string> {
    return requestBytes(method, `/v${await this.#options.apiVersion()}${path}${queryOf(query)}`, body);
  }
}

/** Whether a call is for the lean way: none that is cut off from outside, and nothing but JSON goes there. */
export function isLean({ method, bytes, upload, signal, registryAuth }: EngineCall): boolean {
  return method !== 'HEAD' && [bytes, upload, signal, registryAuth].every((each) => each === undefined);
}

function queryOf(query: EngineCall['query']): string {
  const parts = Object.entries(query ?? {}).map(([name, value]) => {
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
    return `${encodeURIComponent(name)}=${encodeURIComponent(text)}`;
  });
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

/** Bounds a call in time; an answer that is late finds its connection closed. */
async function within<T>(
  { action, timeoutMs = defaultTimeoutMs }: EngineCall,
  socket: Socket,
  run: () => Promise<T>,
): Promise<T> {
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    socket.destroy();
  }, timeoutMs);
  try {
    return await run();
  } catch (error) {
    if (late) throw new RuntimeError('timeout', `${action}: no answer from the container engine within ${timeoutMs} ms`);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function refusal({ action, subject = 'container' }: EngineCall, status: number, body: string): RuntimeError {
  return new RuntimeError(codeForStatus(status, subject), `${action}: ${messageOf(body) || `the engine answered ${status}`}`);
}

function messageOf(body: string): string {
  try {
    const { message } = JSON.parse(body) as { message?: unknown };
    return typeof message === 'string' ? message.trim() : '';
  } catch {
    return body.trim();
  }
}

const refusalMs = 1_000;

/** The words of a refusal, as far as they come at once. */
async function readText(socket: Socket): Promise<string> {
  const timer = setTimeout(() => socket.destroy(), refusalMs);
  try {
    let text = '';
    for await (const chunk of socket) {
      text += String(chunk);
      const start = text.indexOf('{');
      const end = text.lastIndexOf('}');
      if (start >= 0 && end > start) return text.slice(start, end + 1);
    }
    return text;
  } catch {
    return '';
  } finally {
    clearTimeout(timer);
  }
}
