import { realpathSync } from 'node:fs';
import type { ProcessName } from '../processes/berth-processes.ts';

/** What a service runs. */
export interface ServiceCommand {
  readonly name: ProcessName;
  readonly dataDir: string;
  /** The program and its arguments. */
  readonly words: readonly string[];
  /** What the process is to find in its environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** Of this program: another one is worth a restart. */
  readonly version: string;
}

/**
 * One arena: the C library would give each thread of Node.js its own, and return little of their memory. Fixed
 * thresholds: by itself it raises both with the largest block that was freed, and the program's own text is one of
 * megabytes. Blocks from the threshold on get pages of their own, which go back at once; for the messages of a server
 * that would cost processor time. An agent mostly reads little: Node.js takes a block of 64 KiB for each read and cuts
 * it to what came. The rest, free only after the next collection, would spread what the agent keeps over three times
 * the memory. Streams that fill their blocks cost it 0.3 ms more for each megabyte.
 */
export function allocatorSettings(name: ProcessName): Record<string, string> {
  const { threshold, trim } = name === 'agent' ? { threshold: 64, trim: 128 } : { threshold: 1024, trim: 1024 };
  return {
    MALLOC_ARENA_MAX: '1',
    MALLOC_MMAP_THRESHOLD_: String(threshold * 1024),
    MALLOC_TRIM_THRESHOLD_: String(trim * 1024),
  };
}

/** The environment of a process that is started with the machine. Of this command's: where the engine is. */
export function environmentOf(name: ProcessName, env: NodeJS.ProcessEnv): Record<string, string> {
  const { DOCKER_HOST } = env;
  return { ...allocatorSettings(name), ...(name === 'agent' && DOCKER_HOST ? { DOCKER_HOST } : {}) };
}

/**
 * What no file of a service can say: a line break in a word would begin a line of its own, which systemd or a shell
 * obeys as root. Throws an Error that names the word.
 */
export function checkWords({ dataDir, words, environment }: ServiceCommand): void {
  const all = [dataDir, ...words, ...Object.values(environment)];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
  const wrong = all.find((word) => /[\x00-\x1f\x7f\x85\u2028\u2029]/.test(word));
  if (wrong !== undefined)
    throw new Error(`${JSON.stringify(wrong)} has a line break or another control character, which a service cannot be given`);
}

/** With links resolved: what is behind them may be where a sandbox hides it. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // It is made later.
    return path;
  }
}
