import { readFile, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, resolve as resolvePath } from 'node:path';
import { isModuleNamespaceObject } from 'node:util/types';
import { isJsonObject } from '../../api/meta/merge-patch.ts';
import { CallTimeout, withinLimit } from '../framework/call-limit.ts';

/** What a module does when it is loaded should take no time. */
export const loadLimitMs = 10_000;

/**
 * Loads a module as one beside the file `from` would import it: a package by its name, a file by its path, relative
 * ones from the folder of `from`. Throws an Error that says why it cannot be had. By `require`, which takes modules of
 * both kinds: our own program is run in a way that has no `import()`.
 */
export async function importBeside(specifier: string, from: string): Promise<Readonly<Record<string, unknown>>> {
  const path = await resolveBeside(specifier, from);
  try {
    return asModule(withinLimit(() => createRequire(from)(path) as unknown, loadLimitMs));
  } catch (error) {
    throw new Error(wordFailure(error), { cause: error });
  }
}

/** What CommonJS exports is a default export, unless a compiler made it of an ES module. */
function asModule(loaded: unknown): Readonly<Record<string, unknown>> {
  const isWhole = isModuleNamespaceObject(loaded) || (isJsonObject(loaded) && loaded.__esModule === true);
  return isWhole ? (loaded as Record<string, unknown>) : { default: loaded };
}

async function resolveBeside(specifier: string, from: string): Promise<string> {
  if (/^\.{0,2}\//.test(specifier)) return checkedPath(resolvePath(dirname(from), specifier));
  const { resolve } = createRequire(from);
  try {
    return resolve(specifier);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'MODULE_NOT_FOUND') throw new Error(`there is no such package in node_modules of ${dirname(from)} or above`);
    // A package may have it for "import" alone, which `resolve` does not look for.
    const entry =
      code === 'ERR_PACKAGE_PATH_NOT_EXPORTED' ? await importEntry(specifier, resolve.paths(specifier) ?? [], from) : undefined;
    if (entry === undefined) throw error;
    return entry;
  }
}

async function checkedPath(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw new Error(`there is no file ${path}`);
  if (found.isDirectory()) throw new Error(`${path} is a folder: name the file in it`);
  return path;
}

/** What the package, found beside `from` or around it, has for "import". */
async function importEntry(specifier: string, paths: readonly string[], from: string): Promise<string | undefined> {
  const [name = ''] = /^(@[^/]+\/)?[^/]+/.exec(specifier) ?? [];
  const subpath = `.${specifier.slice(name.length)}`;
  for (const folder of [...paths.map((path) => join(path, name)), ...foldersAbove(from)]) {
    const manifest: unknown = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8').catch(() => 'null'));
    if (!isJsonObject(manifest) || (manifest.name !== undefined && manifest.name !== name)) continue;
    const { exports } = manifest;
    const target = targetOf(
      isJsonObject(exports) && subpath in exports ? exports[subpath] : subpath === '.' ? exports : undefined,
    );
    if (target !== undefined) return join(folder, target);
  }
  return undefined;
}

function foldersAbove(file: string): string[] {
  const folder = dirname(file);
  return folder === file ? [] : [folder, ...foldersAbove(folder)];
}

/** The first of the conditions that hold here. */
function targetOf(exported: unknown): string | undefined {
  if (typeof exported === 'string') return exported;
  if (!isJsonObject(exported)) return undefined;
  for (const [condition, inner] of Object.entries(exported)) {
    const target = ['node', 'import', 'module-sync', 'default'].includes(condition) ? targetOf(inner) : undefined;
    if (target !== undefined) return target;
  }
  return undefined;
}

/** A mistake in the module's own code is found by its place there. */
function wordFailure(error: unknown): string {
  if (!(error instanceof Error)) return `threw ${String(error)}`;
  const { code, name, message, stack = '' } = error as NodeJS.ErrnoException;
  if (code === 'ERR_REQUIRE_ASYNC_MODULE') return 'awaits something while it is loaded, which a module of plugins cannot';
  const [place] = /(?:file:\/\/)?\/[^\s()]+:\d+(?::\d+)?/.exec(stack) ?? [];
  const [line = ''] = message.split('\n');
  return code === undefined && place !== undefined && !(error instanceof CallTimeout) ? `${name}: ${line} (${place})` : line;
}
