import { connect, type Socket } from 'node:net';
import { RuntimeError } from '../runtime/runtime-error.ts';
import { createNamespaceDialers, type NamespaceDialers } from './namespace-dialers.ts';

/** Where a pod's network is. */
export interface PodPlace {
  readonly podUid: string;
  readonly podName: string;
  readonly hostNetwork: boolean;
  /** The sandbox's process, whose network namespace is the pod's. */
  readonly pid: number | undefined;
  readonly ip: string | undefined;
}

/** A connection to a port of a pod. Reading applies back-pressure. */
export interface PodConnection {
  /** What the pod sends, until it sends no more. Throws RuntimeError when the connection breaks. */
  output(): AsyncIterable<Uint8Array>;
  /** Resolves when the kernel has taken the bytes. */
  write(data: Uint8Array): Promise<void>;
  /** Closes the writing half; reading continues. */
  end(): void;
  /** Resolves when both directions are over. */
  readonly closed: Promise<void>;
  close(): void;
}

/** Connects to ports of pods as a program inside of them would: to their loopback addresses first. */
export interface PodDialer {
  /** Throws RuntimeError: `conflict` when nothing listens, `timeout`. */
  dial(place: PodPlace, port: number, signal: AbortSignal): Promise<PodConnection>;
  close(): void;
}

const loopback = ['127.0.0.1', '::1'];
const connectTimeoutMs = 10_000;

export function createPodDialer(
  warn: (message: string) => void,
  namespaces: NamespaceDialers = createNamespaceDialers({ loopback, warn }),
): PodDialer {
  /** What listens on the pod's address only is found as well; Kubernetes would not find it. */
  async function open({ podUid, hostNetwork, pid, ip }: PodPlace, port: number): Promise<Socket | undefined> {
    if (hostNetwork) return dialFirst(loopback, port);
    const inside = pid === undefined || pid === 0 ? undefined : await namespaces.dial({ podUid, pid }, port);
    return inside ?? (ip === undefined ? undefined : await dialFirst([ip], port));
  }
  return {
    async dial(place, port, signal) {
      const socket = await open(place, port);
      const action = `connect to port ${port} of pod "${place.podName}"`;
      if (socket === undefined) throw new RuntimeError('conflict', `${action}: connection refused; nothing listens on it`);
      return createConnection(socket, action, signal);
    },
    close: () => namespaces.close(),
  };
}

async function dialFirst(hosts: readonly string[], port: number): Promise<Socket | undefined> {
  for (const host of hosts) {
    const socket = await dialHost(host, port);
    if (socket !== undefined) return socket;
  }
  return undefined;
}

function dialHost(host: string, port: number): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, allowHalfOpen: true });
    const timer = setTimeout(() => socket.destroy(new Error('timeout')), connectTimeoutMs);
    const settle = (result: Socket | undefined): void => {
      clearTimeout(timer);
      socket.removeAllListeners('error');
      resolve(result);
    };
    socket.pause();
    socket.once('connect', () => settle(socket));
    socket.once('error', () => settle(undefined));
  });
}

function createConnection(socket: Socket, action: string, signal: AbortSignal): PodConnection {
  // The next read or write reports errors that occurred in between.
  socket.on('error', () => {});
  socket.setNoDelay(true);
  const abort = (): void => void socket.destroy();
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  void closed.then(() => signal.removeEventListener('abort', abort));
  return {
    closed,
    async *output() {
      try {
        // Leaving the loop does not close the other direction.
        for await (const data of socket.iterator({ destroyOnReturn: false })) yield data as Uint8Array;
      } catch (error) {
        if (!signal.aborted) throw new RuntimeError('conflict', `${action}: the pod closed the connection`, { cause: error });
      }
    },
    write: (data) =>
      new Promise((resolve, reject) => {
        socket.write(data, (error) => {
          if (error) reject(new RuntimeError('conflict', `${action}: the pod closed the connection`, { cause: error }));
          else resolve();
        });
      }),
    end: () => void socket.end(),
    close: () => socket.destroy(),
  };
}
