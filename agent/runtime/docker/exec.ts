import { setTimeout as delay } from 'node:timers/promises';
import type { ExecOptions, ExecSession } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { Engine } from './engine.ts';
import { inspectExec, isEnded, reapExec } from './exec-state.ts';
import { killCommand } from './kill-command.ts';
import { checkPath } from './long-paths.ts';
import { createSession, detachKeys } from './session.ts';

// The engine notes the exit a moment after the output has ended, which takes seconds on a machine that is busy.
const exitWithinMs = 30_000;
const exitPollMs = 20;
const slowestExitPollMs = 500;

/** A command that the agent itself runs in a container, for which nothing may be left behind. */
export interface OwnExec extends ExecSession {
  /** Ends the command with all that it started, unless it has ended. Returns at once; never throws. */
  end(): void;
}

/** Starts a command in a running container over a connection of its own. */
export async function openExec(
  engine: Engine,
  containerId: string,
  options: ExecOptions,
  signal: AbortSignal,
): Promise<ExecSession> {
  const action = `exec in container ${containerId}`;
  return startExec(engine, await createExec(engine, containerId, options, action), { ...options, action, signal });
}

/** The same for the agent's own commands. A command whose start fails or is aborted is killed. */
export async function openOwnExec(
  engine: Engine,
  containerId: string,
  options: ExecOptions,
  signal: AbortSignal,
): Promise<OwnExec> {
  const action = `exec in container ${containerId}`;
  const exec = await createExec(engine, containerId, options, action);
  const end = () => void reapExec({ engine, exec, action, containerId, kill: killCommand });
  try {
    return { ...(await startExec(engine, exec, { ...options, action, signal })), end };
  } catch (error) {
    end();
    throw error;
  }
}

async function createExec(
  engine: Engine,
  containerId: string,
  { command, stdin, tty }: ExecOptions,
  action: string,
): Promise<string> {
  checkPath('the command', command[0]);
  const { Id: id } = await engine.call<{ readonly Id: string }>({
    method: 'POST',
    path: `/containers/${containerId}/exec`,
    body: { AttachStdin: stdin, AttachStdout: true, AttachStderr: true, Tty: tty, DetachKeys: detachKeys, Cmd: command },
    action,
  });
  return id;
}

interface StartOptions {
  readonly tty: boolean;
  readonly action: string;
  readonly signal: AbortSignal;
}

async function startExec(engine: Engine, id: string, { tty, action, signal }: StartOptions): Promise<ExecSession> {
  const body = { Detach: false, Tty: tty };
  const socket = await engine.hijack({ method: 'POST', path: `/exec/${id}/start`, body, action, signal });
  const session = createSession({ engine, socket, action, tty, signal, resizePath: `/exec/${id}/resize` });
  return { ...session, exitCode: () => readExitCode(engine, id, action) };
}

async function readExitCode(engine: Engine, id: string, action: string): Promise<number> {
  const deadline = performance.now() + exitWithinMs;
  for (let pauseMs = exitPollMs; performance.now() < deadline; pauseMs = Math.min(2 * pauseMs, slowestExitPollMs)) {
    const state = await inspectExec(engine, id, `inspect ${action}`);
    if (isEnded(state)) return state.ExitCode;
    await delay(pauseMs);
  }
  throw new RuntimeError('timeout', `${action}: the command still runs though its output has ended`);
}
