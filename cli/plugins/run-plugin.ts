import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { badRequest } from '../../api/errors/index.ts';
import { ExitWith } from '../program/failure.ts';
import { findPlugin } from './find-plugins.ts';

const forwarded: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGHUP', 'SIGUSR2'];
/** A terminal sends these to the plugin as well. */
const fromTerminal: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT'];

/**
 * Runs the plugin that the words call, with our terminal and environment, and ends as it ends: with its exit code, or
 * by its signal. Gives false when there is none. `word` is the one that is no command.
 */
export async function runPlugin(words: readonly string[], word: string): Promise<boolean> {
  const found = findPlugin(words.slice(words.indexOf(word)));
  if (found === undefined) return false;
  if (words[0] !== word) throw badRequest(`flags cannot be placed before plugin name: ${words[0]}`);
  const { code, signal } = await run(found.path, found.args);
  if (signal !== null) process.kill(process.pid, signal);
  // Of a signal that does not end this process, such as SIGPIPE, the code that shells give it.
  throw new ExitWith(signal === null ? (code ?? 1) : 128 + constants.signals[signal]);
}

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

async function run(path: string, args: readonly string[]): Promise<Ended> {
  const hasTerminal = [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY);
  const child = spawn(path, args, { stdio: 'inherit' });
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
  const wait = (): void => {};
  const handlers = new Map([
    ...forwarded.map((signal) => [signal, pass] as const),
    ...fromTerminal.map((signal) => [signal, hasTerminal ? wait : pass] as const),
  ]);
  for (const [signal, handler] of handlers) process.on(signal, handler);
  try {
    return await new Promise((resolve, reject) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
      child.once('error', (error) => reject(badRequest(`cannot run ${path}: ${error.message}`)));
    });
  } finally {
    for (const [signal, handler] of handlers) process.off(signal, handler);
  }
}
