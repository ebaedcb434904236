import { accessSync, constants, type Dirent, readdirSync, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

const prefix = 'berth-';
/** Berth's own, beside bin/berth. */
const ownPrograms: ReadonlySet<string> = new Set(['berth-supervise']);

/** A program that words of the command line call. */
export interface CalledPlugin {
  readonly path: string;
  /** The words behind those that name it. */
  readonly args: readonly string[];
}

/**
 * The program that `berth foo bar-baz ...` means when berth has no command of that name: berth-foo-bar_baz, otherwise
 * berth-foo. Words up to the first flag count, the longest match wins.
 */
export function findPlugin(words: readonly string[], env: NodeJS.ProcessEnv = process.env): CalledPlugin | undefined {
  const flag = words.findIndex((word) => word.startsWith('-'));
  const names = words.slice(0, flag < 0 ? undefined : flag).map((word) => word.replaceAll('-', '_'));
  const folders = foldersOf(env);
  for (let count = names.length; count > 0; count--) {
    const file = prefix + names.slice(0, count).join('-');
    // A word with a slash would lead elsewhere.
    if (file.includes('/') || ownPrograms.has(file)) continue;
    const path = folders.map((folder) => join(folder, file)).find(isProgram);
    if (path !== undefined) return { path, args: words.slice(count) };
  }
  return undefined;
}

/** A file of the PATH that is called as a plugin is. */
export interface ListedPlugin {
  readonly path: string;
  readonly file: string;
  readonly warning?: string;
}

/** All plugins of the PATH, in its order, with what keeps them from being run. */
export function listPlugins(
  builtIn: readonly string[],
  env: NodeJS.ProcessEnv,
  skipped: (folder: string, reason: string) => void,
): ListedPlugin[] {
  const first = new Map<string, string>();
  return [...new Set(foldersOf(env))].flatMap((folder) =>
    filesIn(folder, skipped).map((file): ListedPlugin => {
      const path = join(folder, file);
      const warning = warningOf(path, file, builtIn, first.get(file));
      if (!first.has(file)) first.set(file, path);
      return { path, file, ...(warning !== undefined && { warning }) };
    }),
  );
}

/** The first words of the command lines that call plugins. */
export function pluginWords(builtIn: readonly string[], env: NodeJS.ProcessEnv = process.env): string[] {
  const usable = listPlugins(builtIn, env, () => {}).filter(({ warning }) => warning === undefined);
  return [...new Set(usable.map(({ file }) => firstWord(file)))].sort();
}

function warningOf(path: string, file: string, builtIn: readonly string[], before: string | undefined): string | undefined {
  const word = firstWord(file);
  if (builtIn.includes(word)) return `warning: ${file} is never run: "berth ${word}" is a built-in command`;
  if (!isProgram(path)) return `warning: ${path} identified as a berth plugin, but it is not executable`;
  return before === undefined ? undefined : `warning: ${path} is overshadowed by a similarly named plugin: ${before}`;
}

/** "bar-baz" of "berth-bar_baz-foo". */
function firstWord(file: string): string {
  return (file.slice(prefix.length).split('-')[0] ?? '').replaceAll('_', '-');
}

/** A folder that is named from where one stands is no place for programs. */
function foldersOf({ PATH = '' }: NodeJS.ProcessEnv): string[] {
  return PATH.split(delimiter).filter(isAbsolute);
}

function filesIn(folder: string, skipped: (folder: string, reason: string) => void): string[] {
  let entries: Dirent[];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') skipped(folder, (error as Error).message);
    return [];
  }
  return entries
    .filter((entry) => entry.name.startsWith(prefix) && entry.name !== prefix && !ownPrograms.has(entry.name))
    .filter((entry) => !entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
