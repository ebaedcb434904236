import type { EventEmitter } from 'node:events';
import { constants, type ServerHttp2Session } from 'node:http2';
import { type Server, ServerCredentials } from '@grpc/grpc-js';
import { type ConnectionBounds, DoorConnections } from '../../connections/connection-bounds.ts';
import type { ListenerCredentials } from './credentials.ts';

export interface ListenerOptions {
  readonly credentials: ListenerCredentials;
  readonly bounds: ConnectionBounds;
}

/** What grpc-js knows of its HTTP/2 servers. It does not offer this. */
type Http2Servers = ReadonlyMap<EventEmitter, { readonly sessions?: Set<ServerHttp2Session> }>;

/** The listener for gRPC: gives the connections that it takes to the TLS and HTTP/2 of grpc-js. */
export class Listener {
  readonly #server: Server;
  readonly #bounds: ConnectionBounds;
  readonly #connections: DoorConnections;
  #local: DoorConnections | undefined;

  constructor(server: Server, { credentials, bounds }: ListenerOptions) {
    this.#server = server;
    this.#bounds = bounds;
    this.#connections = this.#takenWith(credentials);
  }

  #takenWith(credentials: ServerCredentials): DoorConnections {
    const injector = this.#server.createConnectionInjector(credentials);
    const events = [...http2ServersOf(this.#server).keys()].at(-1);
    if (!events) throw new Error('this version of grpc-js does not show its HTTP/2 server: its connections could not be bounded');
    return new DoorConnections(this.#bounds, { events, inject: (socket) => injector.injectConnection(socket) });
  }

  /** Listens and returns the port, for a requested port of 0. */
  open(address: string): Promise<number> {
    return this.#connections.open(address);
  }

  /** Listens at a socket in a folder that only this process's user enters: without TLS, and so by token only. */
  openLocal(path: string): Promise<void> {
    this.#local ??= this.#takenWith(ServerCredentials.createInsecure());
    return this.#local.openLocal(path);
  }

  /** Takes no new connections and calls, tells the clients so, lets running calls end for so long, then cuts them. */
  drain(graceMs: number): Promise<void> {
    const doors = [this.#connections, this.#local].filter((each) => each !== undefined);
    for (const each of doors) each.close();
    const connections = doors.flatMap((each) => [...each]);
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#server.forceShutdown();
        for (const each of connections) each.session?.destroy(undefined, constants.NGHTTP2_CANCEL);
      }, graceMs);
      this.#forgetDestroyed();
      this.#server.tryShutdown(() => {
        clearTimeout(timer);
        resolve();
      });
      // Those that have not finished their handshake: no call can be on them.
      for (const each of connections) if (!each.session) each.socket.destroy();
    });
  }

  /**
   * grpc-js closes every session and waits for its close event. Node.js never emits that for a session that was just
   * destroyed and has not emitted it yet, such as one of a silent client: the stop would never complete.
   */
  #forgetDestroyed(): void {
    for (const { sessions } of http2ServersOf(this.#server).values())
      for (const session of sessions ?? []) if (session.destroyed) sessions?.delete(session);
  }
}

const http2ServersOf = (server: Server): Http2Servers =>
  (server as unknown as { http2Servers?: Http2Servers }).http2Servers ?? new Map();
