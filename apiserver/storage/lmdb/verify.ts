import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { restoreAdvice, StorageError, type StorageErrorCode } from '../storage-error.ts';

/** `copy` verifies, and then writes all that is stored into a new file beside the old one (copy-tables.ts). */
export type ChildTask = 'verify' | 'copy';

/** What the child found in a store that is as it should be. */
export interface Soundness {
  /** The last commit in it. */
  readonly commit: number;
  /** No revision above this one was ever given out. */
  readonly reserved: number;
  /** False: everything is there, but the next write would destroy something; it has to be copied first. */
  readonly canWrite: boolean;
}

/** The last line that verify-child prints. */
export type Verdict = ({ readonly code: 'sound' } & Soundness) | { readonly code: StorageErrorCode; readonly message: string };

/** A store of a million records takes seconds; a child that hangs in a damaged tree must not block the start. */
const timeoutMs = 600_000;

/**
 * Reads the whole store in a child process, as a damaged file can kill the process that maps it. Throws `corrupt`,
 * `newer-format`, `no-space` (while it copies), or `failed` when the child could not be started.
 */
export async function runInChild(directory: string, task: ChildTask): Promise<Soundness> {
  const { status, output } = await run([...programArguments(), directory, task]);
  const verdict = parseVerdict(output);
  if (verdict?.code === 'sound') return verdict;
  if (verdict) throw new StorageError(verdict.code, `${task} the store ${directory}: ${verdict.message}`);
  throw new StorageError(
    'corrupt',
    `${task} the store ${directory}: reading it ended with ${status}; the file is damaged; ${restoreAdvice}`,
  );
}

/** Runs the built program; from the TypeScript sources (in tests), through a hook that strips the types. */
function programArguments(): string[] {
  if (import.meta.url.endsWith('.js')) return [fileURLToPath(new URL('./verify-child.js', import.meta.url))];
  return [
    '--import',
    new URL('../../../test/conformance/storage-from-source.mjs', import.meta.url).href,
    fileURLToPath(new URL('./verify-child.ts', import.meta.url)),
  ];
}

function run(args: readonly string[]): Promise<{ status: string; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: timeoutMs });
    let output = '';
    let complaint = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      complaint = (complaint + chunk.toString()).slice(-1000);
    });
    child.once('error', (cause) =>
      reject(new StorageError('failed', `start the verification of the store: ${cause.message}`, { cause })),
    );
    child.once('close', (code, signal) => resolve({ status: signal ?? `exit code ${code} (${complaint.trim()})`, output }));
  });
}

function parseVerdict(output: string): Verdict | undefined {
  const line = output.trimEnd().split('\n').at(-1);
  try {
    return line ? (JSON.parse(line) as Verdict) : undefined;
  } catch {
    // The child died in the middle of a line: that is the verdict.
    return undefined;
  }
}
