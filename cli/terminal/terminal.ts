import { spawnSync } from 'node:child_process';
import type { AttachStream } from '../../client/index.ts';
import { writeAll } from '../logs/log-output.ts';
import { ExitWith } from '../program/failure.ts';

export interface TerminalOptions {
  /** Pass standard input on. */
  readonly stdin: boolean;
  /** This program's standard input is a terminal, and the process has one too. */
  readonly tty: boolean;
}

const endSignals = ['SIGTERM', 'SIGHUP'] as const;

interface TerminalFlags {
  readonly stdin?: boolean | undefined;
  readonly tty?: boolean | undefined;
}

/**
 * What of the flags is possible here, as kubectl decides it: a terminal needs one on this side,
 * and input that is passed on.
 */
export function chooseTerminal({ stdin = false, tty = false }: TerminalFlags): TerminalOptions {
  const possible = process.stdin.isTTY === true;
  if (stdin && tty && !possible)
    process.stderr.write('Unable to use a TTY - input is not a terminal or the right kind of file\n');
  return { stdin, tty: stdin && tty && possible };
}

/** Joins this terminal with a process until it ends. The terminal is given back whatever happens. Throws ApiError. */
export async function joinTerminal(stream: AttachStream, { stdin, tty }: TerminalOptions): Promise<void> {
  const resize = (): void => stream.resize(process.stdout.columns ?? 80, process.stdout.rows ?? 24);
  let endedBy = 0;
  const hangUp = (_name: NodeJS.Signals, signal: number): void => {
    endedBy = signal;
    stream.close();
  };
  // A signal must not leave the terminal raw. Without a raw terminal the default of SIGINT stays.
  const signals = tty ? ([...endSignals, 'SIGINT', 'SIGQUIT'] as const) : endSignals;
  for (const name of signals) process.once(name, hangUp);
  // What the process does not read any more must not keep us from reading its output:
  // errors of the input end the input only.
  if (stdin) void pumpInput(stream).catch(() => undefined);
  try {
    if (tty) {
      process.stdin.setRawMode(true);
      passOutputOn();
      process.stdout.on('resize', resize);
      resize();
    }
    for await (const { stream: name, data } of stream.output())
      await writeAll(name === 'stderr' ? process.stderr : process.stdout, data);
  } catch (error) {
    // Who ended it knows; the code is the shell's for a program that a signal ended.
    throw endedBy === 0 ? error : new ExitWith(128 + endedBy, '');
  } finally {
    if (tty) {
      process.stdin.setRawMode(false);
      process.stdout.off('resize', resize);
    }
    for (const name of signals) process.off(name, hangUp);
    process.stdin.destroy();
    stream.close();
  }
}

/**
 * The terminal of the process turns "\n" into "\r\n" where its programs want that. Node's raw mode leaves the same on
 * in this one, which would show "\r\r\n", and send the cursor of a full-screen program to the first column. Where
 * there is no stty, it stays so. setRawMode(false) brings back all settings.
 */
function passOutputOn(): void {
  spawnSync('stty', ['-opost'], { stdio: ['inherit', 'ignore', 'ignore'] });
}

async function pumpInput(stream: AttachStream): Promise<void> {
  for await (const chunk of process.stdin) await stream.write(chunk as Buffer);
  stream.closeInput();
}
