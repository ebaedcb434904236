import { connect, createServer, type Socket } from 'node:net';

/**
 * Stands between a client and a server, and can fall silent as a network does: nothing comes through, without an error.
 */
export interface TcpProxy {
  /** "127.0.0.1:port". */
  readonly address: string;
  /** Connections so far. */
  readonly connections: number;
  /** The connections that there are carry nothing any more, in either direction; new ones do. */
  freeze(): void;
  /** The cable is pulled: as `freeze`, and there are no new connections until `heal`. */
  cut(): void;
  heal(): void;
  close(): Promise<void>;
}

/** Listens and carries every connection to `target` ("host:port"). */
export async function startTcpProxy(target: string): Promise<TcpProxy> {
  const [host = '', port = ''] = target.split(':');
  const sockets = new Set<Socket>();
  let connections = 0;
  let isCut = false;
  const join = (from: Socket, to: Socket): void => {
    sockets.add(from);
    from.on('error', () => {});
    from.on('close', () => {
      sockets.delete(from);
      if (!frozen.has(from)) to.destroy();
    });
    from.pipe(to);
  };
  const frozen = new WeakSet<Socket>();
  const server = createServer((incoming) => {
    if (isCut) {
      incoming.destroy();
      return;
    }
    connections++;
    const outgoing = connect(Number(port), host);
    join(incoming, outgoing);
    join(outgoing, incoming);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const bound = server.address() as { readonly port: number };
  const freeze = (): void => {
    for (const socket of sockets) {
      frozen.add(socket);
      socket.unpipe();
      socket.pause();
    }
  };
  return {
    address: `127.0.0.1:${bound.port}`,
    get connections() {
      return connections;
    },
    freeze,
    cut() {
      isCut = true;
      freeze();
    },
    heal() {
      isCut = false;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
