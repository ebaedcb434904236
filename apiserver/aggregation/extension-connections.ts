import { Agent, type ClientRequest, type RequestOptions } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ConnectionOptions, createSecureContext } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import { startTimeout } from '../../api/meta/timeout.ts';
import type { ProxyTarget } from '../http/proxy/proxy-target.ts';
import type { KindStore } from '../registry/kind-store.ts';
import { overTls } from '../tunnel/over-tls.ts';
import { type ExtensionDeps, extensionFlow, extensionTls } from './extension-server.ts';
import type { RemoteGroup, RemoteGroups } from './remote-groups.ts';

/** Shorter than servers keep theirs: Kubernetes' library 90 s; those that keep them for less time say so. */
const idleMs = 30_000;
/** Of one endpoint, and of all endpoints of an APIService. */
const mostIdle = 8;
/** Of an APIService, idle ones among them. A request beyond that has a connection of its own, charged to its caller. */
const mostOpen = 32;

/** The connections to extension servers that are used again, by the names of the APIServices. */
export class ExtensionConnections {
  readonly #deps: Pick<ExtensionDeps, 'frontProxy'>;
  readonly #known = new Map<
    string,
    { readonly spec: RemoteGroup['spec']; readonly certificate: string; kept: KeptConnections }
  >();

  constructor(deps: Pick<ExtensionDeps, 'frontProxy'>) {
    this.#deps = deps;
  }

  /** The connections of an APIService in its present state. Those opened for an earlier state are not used again. */
  of(remote: RemoteGroup): KeptConnections {
    const { name, spec } = remote;
    const { certificate } = this.#deps.frontProxy.pair;
    const known = this.#known.get(name);
    if (known?.certificate === certificate && (known.spec === spec || isDeepStrictEqual(known.spec, spec))) return known.kept;
    known?.kept.retire();
    const kept = new KeptConnections(extensionTls(remote, this.#deps));
    this.#known.set(name, { spec, certificate, kept });
    return kept;
  }

  /** Closes the connections of deleted APIServices until aborted, then all of them. */
  async run({ cache }: Pick<KindStore, 'cache'>, groups: RemoteGroups, signal: AbortSignal): Promise<void> {
    const prune = (): void => {
      const there = new Set([...groups].map(({ name }) => name));
      for (const name of this.#known.keys()) if (!there.has(name)) this.#end(name);
    };
    const leave = cache.observe({ reset: prune, event: prune });
    if (!signal.aborted) await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    leave();
    for (const name of this.#known.keys()) this.#end(name);
  }

  #end(name: string): void {
    this.#known.get(name)?.kept.retire();
    this.#known.delete(name);
  }
}

/** Options of a request over a kept connection. */
export interface KeptOptions extends RequestOptions {
  readonly target: ProxyTarget;
}

/**
 * Connections of one APIService. Idle ones wait by endpoint, so that each request goes to an endpoint that is ready
 * now. They are the server's own: charged to no caller, and bounded here.
 */
export class KeptConnections extends Agent {
  readonly #tls: ConnectionOptions;
  readonly #unsolicited = new WeakMap<Duplex, () => void>();
  #open = 0;
  #isRetired = false;

  constructor({ ca, cert, key, minVersion, ...tls }: ConnectionOptions) {
    super({ keepAlive: true, timeout: idleMs, maxFreeSockets: mostIdle, scheduling: 'lifo' });
    // Made once: reading an authority costs as much as the rest of a handshake.
    const secureContext = createSecureContext({ ...(ca && { ca }), cert, key, ...(minVersion && { minVersion }) });
    this.#tls = { ...tls, secureContext };
  }

  /** How the server's certificate is checked, and the client certificate. */
  get tls(): ConnectionOptions {
    return this.#tls;
  }

  /** Whether a request to the endpoint gets a connection. */
  mayTake({ endpoint }: ProxyTarget): boolean {
    return this.#open < mostOpen || (this.freeSockets[endpoint]?.length ?? 0) > 0;
  }

  /** Closes what is idle, and each other connection behind its request. */
  retire(): void {
    this.#isRetired = true;
    for (const socket of Object.values(this.freeSockets).flatMap((sockets) => sockets ?? [])) socket.destroy();
  }

  override getName(options?: RequestOptions): string {
    return (options as KeptOptions).target.endpoint;
  }

  override createConnection(options: RequestOptions, done?: (error: Error | null, socket: Duplex) => void): undefined {
    this.#open++;
    this.#dial(options as KeptOptions).then(
      (socket) => done?.(null, socket),
      (error: Error) => {
        this.#open--;
        const { endpoint } = (options as KeptOptions).target;
        // Node has made a list for the endpoint before, and would keep it.
        if (this.sockets[endpoint]?.length === 0) delete (this.sockets as Record<string, unknown>)[endpoint];
        (done as (error: Error) => void)?.(error);
      },
    );
  }

  async #dial({ target }: KeptOptions): Promise<Duplex> {
    // Not cancelled with the caller. Node closes a connection that is opened after its request has ended.
    const late = startTimeout(dialMs);
    const socket = await target.dial({ flow: extensionFlow, signal: late.signal }).finally(late.clear);
    const secure = overTls(socket, this.#tls);
    secure.once('close', () => this.#open--);
    return secure;
  }

  override keepSocketAlive(socket: Duplex): boolean {
    const idle = Object.values(this.freeSockets).reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0);
    if (this.#isRetired || idle >= mostIdle || socket.readableLength > 0) return false;
    // What comes without a request could be taken for the answer to the next one, which is another caller's.
    const close = (): void => void socket.destroy();
    this.#unsolicited.set(socket, close);
    socket.once('data', close);
    // False where the server says that it closes the connection soon, which the types of Node do not tell.
    return (super.keepSocketAlive(socket) as unknown) !== false;
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    const close = this.#unsolicited.get(socket);
    if (close) socket.removeListener('data', close);
    super.reuseSocket(socket, request);
  }
}

/** As long as an agent may take to open a stream, and Kubernetes to dial. */
const dialMs = 30_000;
