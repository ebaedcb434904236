import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * A way to a server on this machine that can stop in the middle of an answer, as a network does:
 * nothing is closed, nothing comes any more.
 */
export interface StallingProxy {
  /** "127.0.0.1:PORT". */
  readonly address: string;
  /** From now on of every answer only so many bytes come through. */
  stall(afterBytes: number): void;
  /** What was held back comes after all, and everything else. */
  goOn(): void;
  /** How many answers have been held up since `stall`. */
  held(): number;
  close(): void;
}

interface Way {
  readonly client: Socket;
  readonly server: Socket;
  /** Of the answer that is under way: a client that asks has got the one before. */
  passed: number;
  kept: Buffer[];
}

/** `target` is "127.0.0.1:PORT". */
export async function startStallingProxy(target: string): Promise<StallingProxy> {
  const ways = new Set<Way>();
  let most = Number.POSITIVE_INFINITY;
  let held = 0;

  function forward(way: Way, chunk: Buffer): void {
    const rest = chunk.subarray(Math.max(0, most - way.passed));
    const free = chunk.subarray(0, chunk.length - rest.length);
    way.passed += free.length;
    if (free.length > 0 && !way.client.write(free)) {
      way.server.pause();
      way.client.once('drain', () => way.kept.length === 0 && way.server.resume());
    }
    if (rest.length === 0) return;
    if (way.kept.length === 0) held++;
    way.kept.push(rest);
    way.server.pause();
  }

  const proxy = createServer((client) => {
    const [host = '', port = ''] = target.split(':');
    const way: Way = { client, server: connect(Number(port), host), passed: 0, kept: [] };
    ways.add(way);
    client.on('data', (chunk: Buffer) => {
      way.passed = 0;
      way.server.write(chunk);
    });
    way.server.on('data', (chunk: Buffer) => forward(way, chunk));
    way.server.on('end', () => client.end());
    for (const end of [client, way.server]) {
      end.on('error', () => undefined);
      end.on('close', () => {
        ways.delete(way);
        client.destroy();
        way.server.destroy();
      });
    }
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    address: `127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    stall(afterBytes) {
      most = afterBytes;
      held = 0;
    },
    goOn() {
      most = Number.POSITIVE_INFINITY;
      for (const way of ways) {
        const kept = way.kept.splice(0);
        for (const chunk of kept) forward(way, chunk);
        way.server.resume();
      }
    },
    held: () => held,
    close() {
      proxy.close();
      for (const { client, server } of ways) {
        client.destroy();
        server.destroy();
      }
    },
  };
}
