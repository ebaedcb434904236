import { connect, createServer, type Socket } from 'node:net';

/** Stands between a client and a server, and can fall silent as a network does: nothing comes through, and nobody is told. */
export interface TcpProxy {
  /** "127.0.0.1:port". */
  readonly address: string;
  /** Connections so far. */
  readonly connections: number;
  /** The connections that there are carry nothing any more, in either direction; new ones do. */
  freeze(): void;
  close(): Promise<void>;
}

/** Listens and carries every connection to `target` ("host:port"). */
export async function startTcpProxy(target: string): Promise<TcpProxy> {
  const [host = '', port = ''] = target.split(':');
  const sockets = new Set<Socket>();
  let connections = 0;
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
    connections++;
    const outgoing = connect(Number(port), host);
    join(incoming, outgoing);
    join(outgoing, incoming);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const bound = server.address() as { readonly port: number };
  return {
    address: `127.0.0.1:${bound.port}`,
    get connections() {
      return connections;
    },
    freeze() {
      for (const socket of sockets) {
        frozen.add(socket);
        socket.unpipe();
        socket.pause();
      }
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
