import { systemClock } from '../../../client/clock.ts';
import type { CommandOptions, CommandResult, CommandRunner } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import { createExecExits, type ExecExits, type ExpectedExit } from './exec-exits.ts';
import { type ExecState, inspectExec, isEnded, isStarted, reapExec } from './exec-state.ts';
import { createFrameSplitter } from './frames.ts';
import { killCommand } from './kill-command.ts';
import type { LeanEngine, UnreadConnection } from './lean-engine.ts';
import { checkPath } from './long-paths.ts';

export interface CommandsOptions {
  readonly engine: Pick<LeanEngine, 'call' | 'hijackUnread'>;
  /** Exit codes from the engine's events. */
  readonly exits?: ExecExits;
  /** Kills a process of a container and its descendants; false when the container has no such process. */
  readonly kill?: (pid: number, containerId: string) => boolean;
}

/** A running command, its output so far, and why it was given up, if it was. */
interface Running {
  readonly exec: string;
  readonly action: string;
  readonly connection: UnreadConnection;
  readonly exit: ExpectedExit;
  output: string;
  given: 'overdue' | 'aborted' | undefined;
}

const engineTimeoutMs = 15_000;
// Most commands are probes that succeed within this time: their output is not read.
const quickMs = 500;
// The engine's event with the exit code comes shortly after the end of the output. Events may be lost, and a command
// may close its output and go on: the engine is polled meanwhile.
const exitPollMs = 100;
const slowestExitPollMs = 500;
// A busy engine is slow to start a command; this time does not count against the command.
const startSlackMs = 10_000;
const startPollMs = 1_000;

/**
 * Runs short commands in containers, for probes and hooks: with few and small calls, within a time limit,
 * and leaving no process behind.
 */
export function createCommands(options: CommandsOptions): CommandRunner {
  return new EngineCommands(options);
}

class EngineCommands implements CommandRunner {
  readonly #options: CommandsOptions;
  readonly #exits: ExecExits;
  readonly #kill: (pid: number, containerId: string) => boolean;

  constructor(options: CommandsOptions) {
    this.#options = options;
    this.#exits = options.exits ?? createExecExits();
    this.#kill = options.kill ?? killCommand;
  }

  async run(
    containerId: string,
    command: readonly string[],
    options: CommandOptions,
    signal: AbortSignal,
  ): Promise<CommandResult> {
    const running = await this.#open(containerId, command, `run a command in container ${containerId}`);
    try {
      return await this.#waitFor(running, options, signal);
    } finally {
      if (running.given !== undefined)
        void reapExec({
          engine: this.#options.engine,
          exec: running.exec,
          action: running.action,
          containerId,
          kill: this.#kill,
        });
    }
  }

  async #open(containerId: string, command: readonly string[], action: string): Promise<Running> {
    checkPath('the command', command[0]);
    const { Id: exec } = await this.#options.engine.call<{ readonly Id: string }>({
      method: 'POST',
      path: `/containers/${containerId}/exec`,
      body: { AttachStdout: true, AttachStderr: true, Cmd: command },
      action,
      timeoutMs: engineTimeoutMs,
    });
    const exit = this.#exits.expect(exec);
    try {
      const start = { method: 'POST', path: `/exec/${exec}/start`, body: { Detach: false }, action } as const;
      const connection = await this.#options.engine.hijackUnread({ ...start, timeoutMs: engineTimeoutMs });
      return { exec, action, connection, exit, output: '', given: undefined };
    } catch (error) {
      exit.forget();
      throw error;
    }
  }

  #inspect({ exec, action }: Running): Promise<ExecState> {
    return inspectExec(this.#options.engine, exec, action);
  }

  /** Gives a command up when its time limit, counted from its start by the engine, has passed. */
  #watchTime(running: Running, timeoutMs: number): () => void {
    const latestMs = Date.now() + timeoutMs + startSlackMs;
    const look = async () => {
      const state = Date.now() < latestMs ? await this.#inspect(running).catch(() => undefined) : undefined;
      if (state !== undefined && !isStarted(state)) cancel = systemClock.after(Math.min(timeoutMs, startPollMs), look);
      else give(running, 'overdue');
    };
    let cancel = systemClock.after(timeoutMs, look);
    return () => cancel();
  }

  async #exitCode(running: Running): Promise<number | undefined> {
    for (let pauseMs = exitPollMs; running.given === undefined; pauseMs = Math.min(pauseMs * 2, slowestExitPollMs)) {
      const told = await running.exit.within(pauseMs);
      if (told !== undefined) return told;
      const state = await this.#inspect(running);
      if (isEnded(state)) return state.ExitCode;
    }
    return undefined;
  }

  async #waitFor(running: Running, options: CommandOptions, signal: AbortSignal): Promise<CommandResult> {
    const onAbort = () => give(running, 'aborted');
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      const told = running.given === undefined ? await running.exit.within(quickMsOf(options)) : undefined;
      const code = told === 0 ? told : await this.#follow(running, options, told);
      if (running.given === 'aborted') throw new RuntimeError('failed', `${running.action}: aborted`, { cause: signal.reason });
      if (code === 0) return { type: 'succeeded' };
      const { output } = running;
      return code === undefined ? { type: 'timed-out', output } : { type: 'failed', exitCode: code, output };
    } finally {
      signal.removeEventListener('abort', onAbort);
      running.exit.forget();
      running.connection.destroy();
    }
  }

  /**
   * Reads the output and the exit code of a command that did not succeed at once.
   * Undefined when the command is given up.
   */
  async #follow(running: Running, options: CommandOptions, told: number | undefined): Promise<number | undefined> {
    if (running.given !== undefined) return undefined;
    const { timeoutMs, maxBytes } = options;
    const stopWatching = timeoutMs === undefined ? () => {} : this.#watchTime(running, timeoutMs - quickMsOf(options));
    try {
      await collect(running, maxBytes);
      return told ?? (await this.#exitCode(running));
    } finally {
      stopWatching();
    }
  }
}

/** How long to wait for a success before the output is read. */
function quickMsOf({ timeoutMs = Number.POSITIVE_INFINITY }: CommandOptions): number {
  return Math.min(quickMs, timeoutMs / 2);
}

function give(running: Running, why: 'overdue' | 'aborted'): void {
  running.given ??= why;
  running.connection.destroy();
  running.exit.forget();
}

/** Reads both streams until the engine ends them or the command is given up, and keeps the first `maxBytes`. */
async function collect(running: Running, maxBytes: number): Promise<void> {
  const kept: Uint8Array[] = [];
  const split = createFrameSplitter();
  let left = maxBytes;
  try {
    for await (const chunk of await running.connection.read()) {
      for (const { data } of split(chunk as Buffer)) {
        if (left > 0) kept.push(Buffer.from(data.subarray(0, left)));
        left -= data.length;
      }
    }
  } catch (error) {
    if (running.given !== undefined) return;
    if (error instanceof RuntimeError) throw error;
    throw new RuntimeError('unavailable', `${running.action}: the engine closed the connection`, { cause: error });
  } finally {
    running.output = Buffer.concat(kept).toString('utf8');
  }
}
