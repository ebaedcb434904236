import { type FSWatcher, watch } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** A file as it was when it was looked at. */
export type FoundFile = { readonly text: string } | { readonly text?: undefined; readonly problem: string };

/** The manifests of this machine: a folder, or a single file. */
export interface ManifestFolder {
  /**
   * The files by their paths, in order of name. A folder that is not there holds none.
   * Throws when it cannot be read: then nothing is known.
   */
  read(): Promise<ReadonlyMap<string, FoundFile>>;
  /**
   * Calls `changed` whenever something may have changed, until aborted.
   * What it misses is found by looking now and then.
   */
  follow(changed: () => void, signal: AbortSignal): Promise<void>;
}

/** An object has at most 1 MiB in the API. */
const mostBytes = 1024 * 1024;
/** More than a node may have pods. What is beyond, in order of name, is not read. */
const mostFiles = 1_000;

export function createManifestFolder(path: string): ManifestFolder {
  return {
    async read() {
      const found = new Map<string, FoundFile>();
      for (const [i, file] of (await filesAt(path)).entries()) {
        if (i >= mostFiles) found.set(file, { problem: `${file}: is one of more than ${mostFiles} files and is not read` });
        else {
          const read = await readOne(file);
          if (read !== undefined) found.set(file, read);
        }
      }
      return found;
    },
    follow: (changed, signal) => follow(path, changed, signal),
  };
}

/** Hidden files are ignored: editors and tools create them beside the files that they edit. */
async function filesAt(path: string): Promise<string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path];
    const names = (await readdir(path)).filter((name) => !name.startsWith('.')).sort();
    return names.map((name) => join(path, name));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/** Undefined for a folder, and for what went meanwhile. */
async function readOne(file: string): Promise<FoundFile | undefined> {
  const problem = (reason: string): FoundFile => ({ problem: `${file}: ${reason}` });
  try {
    const found = await stat(file);
    if (found.isDirectory()) return undefined;
    // A pipe would be waited for.
    if (!found.isFile()) return problem('is no file that holds a manifest');
    if (found.size > mostBytes) return problem('is larger than 1 MiB, too large for a pod');
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file)) };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    if (error instanceof TypeError) return problem('is no text; a manifest is YAML or JSON in UTF-8');
    return problem(`cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Until what is watched cannot be watched any more: a folder that is moved away takes its watch with it. */
async function follow(path: string, changed: () => void, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  let watcher: FSWatcher;
  try {
    watcher = watch(path, { persistent: false });
  } catch {
    // Not there yet, or no watches are left on this machine: it is looked at now and then.
    return;
  }
  const inode = await inodeOf(path);
  if (signal.aborted) return watcher.close();
  // What happened before the watch stood.
  changed();
  await new Promise<void>((resolve) => {
    const end = () => {
      signal.removeEventListener('abort', end);
      watcher.close();
      resolve();
    };
    signal.addEventListener('abort', end, { once: true });
    watcher.on('error', end);
    watcher.on('change', (event) => {
      changed();
      if (event === 'rename') void inodeOf(path).then((now) => now !== inode && end());
    });
  });
}

async function inodeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ ino }) => ino,
    () => undefined,
  );
}

function codeOf(error: unknown): unknown {
  return (error as NodeJS.ErrnoException).code;
}
