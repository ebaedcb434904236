import { realpathSync } from 'node:fs';
import type { ProcessName } from '../processes/berth-processes.ts';
import { allocatorSettings } from '../processes/process-settings.ts';

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
