import { setTimeout as delay } from 'node:timers/promises';
import { RuntimeError } from '../runtime-error.ts';
import type { Engine } from './engine.ts';

/** What the engine says of a command in a container. */
export interface ExecState {
  readonly Running: boolean;
  readonly ExitCode: number | null;
  readonly Pid?: number;
}

const timeoutMs = 15_000;

export function inspectExec(engine: Pick<Engine, 'call'>, exec: string, action: string): Promise<ExecState> {
  return engine.call<ExecState>({ method: 'GET', path: `/exec/${exec}/json`, action, timeoutMs });
}

export function isStarted({ Running, ExitCode, Pid = 0 }: ExecState): boolean {
  return Running || ExitCode !== null || Pid > 0;
}

export function isEnded(state: ExecState): state is ExecState & { readonly ExitCode: number } {
  return !state.Running && state.ExitCode !== null;
}

export interface Reaping {
  readonly engine: Pick<Engine, 'call'>;
  readonly exec: string;
  readonly action: string;
  readonly containerId: string;
  /** Ends a process of a container and all that it started; false when there is none like it. */
  readonly kill: (pid: number, containerId: string) => boolean;
}

/**
 * How often, and with what pauses, a command that is no longer needed is looked for:
 * the engine may be about to start it.
 */
const reapTries = 12;
const reapPauseMs = 100;
const slowestReapMs = 10_000;

/** Ends a command that is no longer needed. Never throws. */
export async function reapExec({ engine, exec, action, containerId, kill }: Reaping): Promise<void> {
  for (let tries = 0, pauseMs = reapPauseMs; tries < reapTries; tries++) {
    try {
      const state = await inspectExec(engine, exec, action);
      if (isEnded(state) || (isStarted(state) && kill(state.Pid ?? 0, containerId))) return;
    } catch (error) {
      // Gone with its container; any other error is retried.
      if (error instanceof RuntimeError && error.code === 'not-found') return;
    }
    await delay(pauseMs, undefined, { ref: false });
    pauseMs = Math.min(pauseMs * 2, slowestReapMs);
  }
}
