import type { Duplex } from 'node:stream';
import type { ContainerCalls } from './containers.ts';
import type { Engine } from './engine.ts';

/** How much of a container's output waits for its first session. A container that writes more is read from its log. */
export const maxHeldBytes = 256 * 1024;
/** For how many containers, the newest ones: what waits takes 8 MiB at most. */
export const maxHeld = 32;
/** Of how many containers, the newest ones, it is known that no session has joined them. */
export const maxUnseen = 1024;

/**
 * What containers write before their first session joins. The engine gives a session only what comes after it has
 * joined, and the log has a line only when it is complete: only a connection that joins before the container starts, as
 * `docker run` does, has every byte once.
 */
export interface EarlyOutputs {
  /**
   * Joins a container that has not started, and starts it. Fails as `start` does:
   * what cannot be joined is read from the log.
   */
  whileStarting<T extends { readonly startedAt: Date | undefined }>(id: string, start: () => Promise<T>): Promise<T>;
  /**
   * The connection, positioned at the container's first byte;
   * undefined when there is none or its container has ended. The caller closes it.
   */
  take(id: string): Duplex | undefined;
  /** Whether nothing has taken what the container wrote, since this agent started it; also once it has ended. */
  isUnseen(id: string): boolean;
  /** Ends what nothing took. */
  close(): void;
}

interface Held {
  readonly socket: Duplex;
  readonly joinedAtMs: number;
  /** Stops reading, and gives what was read. */
  stop(): Buffer;
}

export function createEarlyOutputs(engine: Pick<Engine, 'hijack'>): EarlyOutputs {
  const held = new Map<string, Held>();
  const unseen = new Set<string>();

  function drop(id: string): void {
    const { socket, stop } = held.get(id) ?? {};
    held.delete(id);
    stop?.();
    socket?.destroy();
  }

  async function join(id: string): Promise<void> {
    if (held.has(id)) return;
    const query = { stream: 1, stdout: 1, stderr: 1 };
    const action = `attach to container ${id}`;
    const socket = await engine.hijack({ method: 'POST', path: `/containers/${id}/attach`, query, action });
    const joinedAtMs = Date.now();
    held.set(id, { socket, joinedAtMs, stop: hold(socket, () => drop(id)) });
    const [oldest = ''] = held.keys();
    if (held.size > maxHeld) drop(oldest);
  }

  function noteUnseen(id: string): void {
    unseen.add(id);
    const [oldest = ''] = unseen;
    if (unseen.size > maxUnseen) unseen.delete(oldest);
  }

  return {
    async whileStarting(id, start) {
      const askedAtMs = Date.now();
      await join(id).catch(() => undefined);
      noteUnseen(id);
      let startedAtMs = 0;
      try {
        const container = await start();
        startedAtMs = container.startedAt?.getTime() ?? 0;
        return container;
      } finally {
        // Of one that did not start, or had been started by an earlier call, nothing whole will come.
        if (startedAtMs < (held.get(id)?.joinedAtMs ?? 0)) drop(id);
        if (startedAtMs < askedAtMs) unseen.delete(id);
      }
    },
    take(id) {
      unseen.delete(id);
      const { socket, stop } = held.get(id) ?? {};
      if (socket === undefined || stop === undefined) return undefined;
      held.delete(id);
      const early = stop();
      if (early.length > 0) socket.unshift(early);
      return socket;
    },
    isUnseen: (id) => unseen.has(id),
    close() {
      for (const id of [...held.keys()]) drop(id);
    },
  };
}

/** The runtime's calls; containers that a session is meant for are joined before they start. */
export function withEarlyOutputs(calls: ContainerCalls, early: EarlyOutputs): ContainerCalls {
  return {
    ...calls,
    async runContainer(config, createdId) {
      if (!config.stdin && !config.tty) return calls.runContainer(config, createdId);
      const id = createdId ?? (await calls.createContainer(config));
      return early.whileStarting(id, () => calls.runContainer(config, id));
    },
  };
}

/** Reads a connection until stopped; `onLost` when it has ended or there is too much. */
function hold(socket: Duplex, onLost: () => void): () => Buffer {
  const pieces: Buffer[] = [];
  let length = 0;
  const onData = (data: Buffer): void => {
    pieces.push(data);
    length += data.length;
    if (length > maxHeldBytes) onLost();
  };
  socket.on('data', onData);
  const lost = ['end', 'close', 'error'] as const;
  for (const event of lost) socket.on(event, onLost);
  return () => {
    socket.pause();
    socket.off('data', onData);
    for (const event of lost) socket.off(event, onLost);
    return Buffer.concat(pieces.splice(0));
  };
}
