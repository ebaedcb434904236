import { setTimeout as delay } from 'node:timers/promises';
import type { ExecOptions, ExecSession } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { Engine } from './engine.ts';
import { checkPath } from './long-paths.ts';
import { createSession, detachKeys } from './session.ts';

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
  checkPath('the command', options.command[0]);
  const { Id: id } = await engine.call<{ readonly Id: string }>({
    method: 'POST',
    path: `/containers/${containerId}/exec`,
    body: {
      AttachStdin: options.stdin,
      AttachStdout: true,
      AttachStderr: true,
      Tty: options.tty,
      DetachKeys: detachKeys,
      Cmd: options.command,
    },
    action,
  });
  const body = { Detach: false, Tty: options.tty };
  const socket = await engine.hijack({ method: 'POST', path: `/exec/${id}/start`, body, action, signal });
  const session = createSession({ engine, socket, action, tty: options.tty, signal, resizePath: `/exec/${id}/resize` });
  return { ...session, exitCode: () => readExitCode(engine, id, action) };
}

async function readExitCode(engine: Engine, id: string, action: string): Promise<number> {
  for (let poll = 0; poll < exitPolls; poll++) {
    const state = await engine.call<ExecState>({ method: 'GET', path: `/exec/${id}/json`, action: `inspect ${action}` });
    if (!state.Running && state.ExitCode !== null) return state.ExitCode;
    await delay(exitPollMs);
  }
  throw new RuntimeError('timeout', `${action}: the command still runs though its output has ended`);
}
