import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { AttachSession } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { Engine } from './engine.ts';
import { demultiplex, undivided } from './frames.ts';

/**
 * Typed in a terminal, these keys would end the session without the process being asked; the engine cannot be told to
 * have none. The default (Ctrl-P Ctrl-Q) swallows the shell's "previous command"; this one is not typed.
 */
export const detachKeys = 'ctrl-^,ctrl-^,ctrl-^,ctrl-^,ctrl-^,ctrl-^';

export interface SessionParts {
  readonly engine: Engine;
  readonly socket: Duplex;
  readonly action: string;
  readonly tty: boolean;
  readonly signal: AbortSignal;
  /** Where the terminal's size is set: "/exec/ID/resize". */
  readonly resizePath: string;
}

// The engine refuses a size until the process has started, which is a moment after it has answered.
const resizeTries = 20;
const resizePauseMs = 50;

/** Joins a connection that was taken over from the engine with a process's streams. */
export function createSession({ engine, socket, action, tty, signal, resizePath }: SessionParts): AttachSession {
  let wanted: { readonly w: number; readonly h: number } | undefined;
  let setting: Promise<void> | undefined;

  /** One call at a time: of two at once the engine may carry out the older one last. */
  async function setSizes(): Promise<void> {
    try {
      for (let tries = 0; wanted !== undefined && tries < resizeTries && !socket.destroyed; ) {
        const size = wanted;
        const done = await setSize(engine, resizePath, size, action);
        if (!done) await delay(resizePauseMs);
        tries = wanted === size && !done ? tries + 1 : 0;
        if (wanted === size && done) wanted = undefined;
      }
    } finally {
      setting = undefined;
    }
  }

  return {
    async *output() {
      try {
        yield* tty ? undivided(socket) : demultiplex(socket);
      } catch (error) {
        if (signal.aborted || socket.destroyed) return;
        throw new RuntimeError('unavailable', `${action}: the engine closed the connection`, { cause: error });
      }
    },
    write(data) {
      // The callback comes once the engine's side has taken the bytes: awaiting it applies back-pressure.
      return new Promise((resolve, reject) => {
        socket.write(data, (error) => {
          if (error) reject(new RuntimeError('conflict', `${action}: the process takes no more input`, { cause: error }));
          else resolve();
        });
      });
    },
    // Only the writing half of the socket: the engine passes the end of input on and goes on sending the output.
    closeInput: () =>
      new Promise((resolve) => {
        if (socket.writableEnded || socket.destroyed) return resolve();
        socket.once('close', resolve);
        socket.end(() => {
          socket.off('close', resolve);
          resolve();
        });
      }),
    async resize(width, height) {
      wanted = { w: width, h: height };
      if (socket.destroyed) return;
      setting ??= setSizes();
      await setting;
    },
    close: () => socket.destroy(),
  };
}

/** False when the process has not started yet, or has ended. */
async function setSize(engine: Engine, path: string, query: { w: number; h: number }, action: string): Promise<boolean> {
  try {
    await engine.call({ method: 'POST', path, query, action: `resize ${action}` });
    return true;
  } catch (error) {
    if (error instanceof RuntimeError) return false;
    throw error;
  }
}
