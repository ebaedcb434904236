import { Agent } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { inspect } from 'node:util';
import Docker from 'dockerode';
import { RuntimeError } from '../runtime-error.ts';
import { type Subject, translate } from './errors.ts';

export interface EngineOptions {
  readonly socketPath?: string | undefined;
  /** How long a call may take that only reads or writes the engine's own state. */
  readonly timeoutMs?: number | undefined;
}

export interface EngineCall {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  /** Without the version: "/containers/json". */
  readonly path: string;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: object;
  /** Sent as it is, instead of a body in JSON. */
  readonly bytes?: Uint8Array;
  /** The same, sent as it comes and no faster than the engine takes it. Destroyed when the call is over. */
  readonly upload?: Readable;
  /** What is being done, for messages: "start container web/app". */
  readonly action: string;
  readonly subject?: Subject;
  /** Statuses that are no error, besides 200-204. */
  readonly accept?: readonly number[];
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** The registry credentials: the header X-Registry-Auth. */
  readonly registryAuth?: string | undefined;
  /** The call waits inside the engine (stop, wait): it must not hold one of the few kept connections. */
  readonly slow?: boolean;
}

/**
 * Docker's HTTP API over dockerode: every call is bounded in time, negotiated in version and fails with a RuntimeError.
 * Streams are bounded until their first byte may come, then live until they end or their signal aborts.
 */
export interface Engine {
  call<T>(call: EngineCall): Promise<T>;
  stream(call: EngineCall): Promise<Readable>;
  /**
   * A connection taken over from HTTP: what is written goes to the process, what is read comes from it.
   * Ending it half-closes.
   */
  hijack(call: EngineCall): Promise<Duplex>;
  apiVersion(): Promise<string>;
  /** Asks for the version again before the next call; for when the engine may have been replaced. */
  forgetVersion(): void;
  close(): void;
}

interface VersionAnswer {
  readonly ApiVersion: string;
  readonly MinAPIVersion?: string;
}

const defaultTimeoutMs = 30_000;
// What this code was written for, and the newest it was read against.
// Between them the lower of ours and the engine's is spoken.
const oldestApi = '1.41';
const newestApi = '1.52';
// The engine works on few things at once; more connections only queue up inside of it.
const keptConnections = 16;

type DialOptions = Parameters<Docker['modem']['dial']>[0];
type Kind = 'json' | 'stream' | 'hijack';

export function createEngine(options: EngineOptions = {}): Engine {
  const quick = createDocker(options, {
    keepAlive: true,
    maxSockets: keptConnections,
    maxFreeSockets: keptConnections,
    scheduling: 'lifo',
  });
  const lasting = createDocker(options, { keepAlive: false });
  let version: Promise<string> | undefined;

  async function negotiate(): Promise<string> {
    const call: EngineCall = { method: 'GET', path: '/version', action: 'get engine version' };
    const answer = (await send(quick.docker, call, 'json', options.timeoutMs ?? defaultTimeoutMs)) as VersionAnswer;
    return chooseApiVersion(answer.ApiVersion, answer.MinAPIVersion ?? oldestApi);
  }

  function apiVersion(): Promise<string> {
    if (version === undefined) {
      const asked = negotiate();
      version = asked;
      asked.catch(() => {
        if (version === asked) version = undefined;
      });
    }
    return version;
  }

  async function dial(call: EngineCall, kind: Kind): Promise<unknown> {
    const path = `/v${await apiVersion()}${call.path}`;
    const { docker } = kind === 'json' && call.slow !== true ? quick : lasting;
    return send(docker, { ...call, path }, kind, call.timeoutMs ?? options.timeoutMs ?? defaultTimeoutMs);
  }

  return {
    call: async <T>(call: EngineCall) => (await dial(call, 'json')) as T,
    stream: async (call) => (await dial(call, 'stream')) as Readable,
    hijack: async (call) => (await dial(call, 'hijack')) as Duplex,
    apiVersion,
    forgetVersion() {
      version = undefined;
    },
    close() {
      quick.agent.destroy();
      lasting.agent.destroy();
    },
  };
}

/** The Unix socket that the library connects to, or undefined when the engine is somewhere else (DOCKER_HOST). */
export function socketPathOf(socketPath: string | undefined, host = process.env.DOCKER_HOST): string | undefined {
  if (socketPath !== undefined) return socketPath;
  if (!host) return '/var/run/docker.sock';
  return host.startsWith('unix://') ? host.slice('unix://'.length) || '/var/run/docker.sock' : undefined;
}

/** The lower of the newest version known here and the engine's; an error when the two have no version in common. */
export function chooseApiVersion(engineNewest: string, engineOldest: string): string {
  const chosen = compareVersions(engineNewest, newestApi) < 0 ? engineNewest : newestApi;
  if (compareVersions(chosen, oldestApi) < 0) {
    throw new RuntimeError(
      'invalid',
      `engine API ${engineNewest} is too old: Berth needs ${oldestApi} (Docker Engine 20.10) or newer`,
    );
  }
  if (compareVersions(chosen, engineOldest) < 0) {
    throw new RuntimeError('invalid', `engine needs API ${engineOldest} or newer, Berth speaks up to ${newestApi}: update Berth`);
  }
  return chosen;
}

function compareVersions(a: string, b: string): number {
  const [majorA = 0, minorA = 0] = a.split('.').map(Number);
  const [majorB = 0, minorB = 0] = b.split('.').map(Number);
  return majorA - majorB || minorA - minorB;
}

function createDocker(
  options: EngineOptions,
  agentOptions: ConstructorParameters<typeof Agent>[0],
): { docker: Docker; agent: Agent } {
  const agent = new Agent(agentOptions);
  // The library renders every request with `inspect` for a debug line that is off;
  // the agent would bring all its sockets along.
  Object.defineProperty(agent, inspect.custom, { value: () => 'Agent' });
  const { socketPath } = options;
  // With a path given, an address in the environment (DOCKER_HOST) must not win.
  const where = socketPath === undefined ? { agent } : { agent, socketPath, host: undefined };
  return { docker: new Docker(where), agent };
}

/**
 * One request through the library's own dialler, which leaves query and body as they are (its methods put the body into
 * the URL as well).
 */
function send(docker: Docker, call: EngineCall, kind: Kind, timeoutMs: number): Promise<unknown> {
  const subject = call.subject ?? 'container';
  return new Promise((resolve, reject) => {
    const abort = new AbortController();
    let settled = false;
    const onAbort = () => fail(call.signal?.reason ?? new Error('aborted'));
    const timer = setTimeout(() => {
      fail(new RuntimeError('timeout', `${call.action}: no answer from the container engine within ${timeoutMs} ms`));
    }, timeoutMs);
    const settle = (): boolean => {
      if (settled) return false;
      settled = true;
      clearTimeout(timer);
      call.upload?.destroy();
      return true;
    };
    const fail = (error: unknown) => {
      if (!settle()) return;
      call.signal?.removeEventListener('abort', onAbort);
      abort.abort();
      reject(call.signal?.aborted ? aborted(call) : translate(error, call.action, subject));
    };
    if (call.signal?.aborted) return fail(call.signal.reason);
    call.signal?.addEventListener('abort', onAbort, { once: true });
    docker.modem.dial(dialOptions(call, kind, abort.signal), (error: unknown, answer: unknown) => {
      if (error !== null && error !== undefined) return fail(error);
      if (!settle()) return discard(answer);
      if (kind === 'json') call.signal?.removeEventListener('abort', onAbort);
      else tie(answer as Readable, call.signal, onAbort);
      resolve(answer);
    });
  });
}

function aborted(call: EngineCall): RuntimeError {
  return new RuntimeError('failed', `${call.action}: aborted`, { cause: call.signal?.reason });
}

/** An answer that came after everyone stopped waiting. */
function discard(answer: unknown): void {
  if (typeof answer === 'object' && answer !== null && 'destroy' in answer && typeof answer.destroy === 'function')
    answer.destroy();
}

/** From here on the signal ends the stream; the stream's end frees the signal. */
function tie(stream: Readable, signal: AbortSignal | undefined, onAbort: () => void): void {
  signal?.removeEventListener('abort', onAbort);
  // Without a listener an error between two reads would end the process; readers see it from their own iteration.
  stream.on('error', () => {});
  if (signal === undefined) return;
  const destroy = () => stream.destroy();
  signal.addEventListener('abort', destroy, { once: true });
  stream.once('close', () => signal.removeEventListener('abort', destroy));
}

function dialOptions(call: EngineCall, kind: Kind, abortSignal: AbortSignal): DialOptions {
  const statusCodes: Record<number, boolean> = { 101: true, 200: true, 201: true, 204: true };
  for (const status of call.accept ?? []) statusCodes[status] = true;
  return {
    path: `${call.path}?`,
    method: call.method,
    options: { _query: { ...call.query }, _body: call.body ?? {} },
    ...(call.bytes === undefined ? {} : { file: Buffer.from(call.bytes) }),
    ...(call.upload === undefined ? {} : { file: call.upload }),
    ...(call.registryAuth === undefined ? {} : { authconfig: { base64: call.registryAuth } }),
    statusCodes,
    abortSignal,
    isStream: kind !== 'json',
    hijack: kind === 'hijack',
    // An exec is started with an empty object as its body at the least.
    allowEmpty: kind === 'hijack',
  };
}
