import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecOptions, ExecSession } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { Engine } from './engine.ts';
import { demultiplex, undivided } from './frames.ts';

interface ExecState {
  readonly Running: boolean;
  readonly ExitCode: number | null;
}

// The engine notes the exit a moment after the output has ended.
const exitPolls = 50;
const exitPollMs = 20;

/** Starts a command in a running container over a connection of its own. */
export async function openExec(
  engine: Engine,
  containerId: string,
  options: ExecOptions,
  signal: AbortSignal,
): Promise<ExecSession> {
  const action = `exec in container ${containerId}`;
  const { Id: id } = await engine.call<{ readonly Id: string }>({
    method: 'POST',
    path: `/containers/${containerId}/exec`,
    body: { AttachStdin: options.stdin, AttachStdout: true, AttachStderr: true, Tty: options.tty, Cmd: options.command },
    action,
  });
  const body = { Detach: false, Tty: options.tty };
  const socket = await engine.hijack({ method: 'POST', path: `/exec/${id}/start`, body, action, signal });
  return createSession({ engine, id, socket, action, tty: options.tty, signal });
}

interface SessionParts {
  readonly engine: Engine;
  readonly id: string;
  readonly socket: Duplex;
  readonly action: string;
  readonly tty: boolean;
  readonly signal: AbortSignal;
}

function createSession({ engine, id, socket, action, tty, signal }: SessionParts): ExecSession {
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
      // The callback comes once the engine's side has taken the bytes: whoever awaits it feels the process's pace.
      return new Promise((resolve, reject) => {
        socket.write(data, (error) => {
          if (error) reject(new RuntimeError('conflict', `${action}: the command takes no more input`, { cause: error }));
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
      await engine.call({
        method: 'POST',
        path: `/exec/${id}/resize`,
        query: { w: width, h: height },
        action: `resize ${action}`,
      });
    },
    exitCode: () => readExitCode(engine, id, action),
    close: () => socket.destroy(),
  };
}

async function readExitCode(engine: Engine, id: string, action: string): Promise<number> {
  for (let poll = 0; poll < exitPolls; poll++) {
    const state = await engine.call<ExecState>({ method: 'GET', path: `/exec/${id}/json`, action: `inspect ${action}` });
    if (!state.Running && state.ExitCode !== null) return state.ExitCode;
    await delay(exitPollMs);
  }
  throw new RuntimeError('timeout', `${action}: the command still runs though its output has ended`);
}
