import { chmod, lstat, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isMissing } from '../volumes/atomic-files.ts';
import { type Mounts, unmountBelow } from '../volumes/mounts.ts';
import { removeTree } from '../volumes/remove-tree.ts';
import { createTurns } from '../volumes/turns.ts';

/**
 * The folders that are volumes of local-path classes. What is asked for one is done in the order in which it was asked.
 * Errors are plain ones, their messages for people.
 */
export interface MadeFolders {
  /** Makes the folder unless it is there; every user of a container may write into it. */
  ensure(path: string): Promise<void>;
  /** Removes the folder with all that is in it. Never reaches through a mount or a link. Gone is fine. */
  remove(path: string): Promise<void>;
}

export interface MadeFoldersOptions {
  /** The agent's own folder, where it notes in which folders it makes volumes. */
  readonly nodeDir: string;
  /** In which folder volumes are made now. Those in earlier ones stay the agent's. */
  readonly root: string;
  readonly mounts: Pick<Mounts, 'list' | 'unmount'>;
}

/** In each folder in which volumes are made: that an agent makes them there. Nothing is removed anywhere else. */
export const rootMarker = '.berth-local-path';
const rootsFile = 'local-path-folders.json';

/** The default folder of local-path volumes. */
export const defaultRoot = (nodeDir: string): string => join(nodeDir, 'local-path');

export function createMadeFolders({ nodeDir, root, mounts }: MadeFoldersOptions): MadeFolders {
  const inTurn = createTurns();
  const known = join(nodeDir, rootsFile);

  /**
   * A folder that had the marker once and has it no more is most likely a disk that is not mounted: a program that
   * found an empty volume there would begin anew, and a volume that was "removed" there would be back after the next
   * start.
   */
  async function checkMounted(folder: string): Promise<void> {
    if (!(await readRoots(known)).includes(folder)) return;
    throw new Error(
      `folder ${folder} has lost the file ${rootMarker}: mount its disk, or create that file if its volumes are gone for good`,
    );
  }

  async function ensureRoot(): Promise<void> {
    if (!(await isMarked(root))) {
      await checkMounted(root);
      await mkdir(root, { recursive: true, mode: 0o700 });
      await writeFile(join(root, rootMarker), 'The folders beside this file are volumes of Berth.\n');
    }
    const roots = await readRoots(known);
    if (!roots.includes(root)) await writeRoots(known, [...roots, root]);
  }

  async function ensure(path: string): Promise<void> {
    const parent = placeOf(path);
    if (parent === root) await inTurn('', ensureRoot);
    else if (!(await isMarked(parent))) throw await notOurs(parent);
    if (await isFolder(path)) return;
    await mkdir(path);
    // The process's umask cuts the mode given on creation.
    await chmod(path, 0o777);
  }

  async function remove(path: string): Promise<void> {
    const parent = placeOf(path);
    if (!(await isMarked(parent))) {
      // No volume was used here yet.
      if (parent === root && !(await readRoots(known)).includes(root)) return;
      throw await notOurs(parent);
    }
    await unmountBelow(mounts, path);
    await removeTree(path);
  }

  async function notOurs(parent: string): Promise<Error> {
    await checkMounted(parent);
    return new Error(`folder ${parent} is none in which this agent makes volumes, which is ${root}`);
  }

  return {
    ensure: (path) => inTurn(path, () => ensure(path)),
    remove: (path) => inTurn(path, () => remove(path)),
  };
}

/** The folder that the path is right in. Throws for a path that could lead anywhere else. */
function placeOf(path: string): string {
  const parent = dirname(path);
  if (!path.startsWith('/') || path.includes('\0') || basename(path) === rootMarker || join(parent, basename(path)) !== path)
    throw new Error(`path "${path}" is not the path of a volume`);
  return parent;
}

async function isMarked(folder: string): Promise<boolean> {
  return (await orNothing(stat(join(folder, rootMarker)))) !== undefined;
}

/** Throws for what is there and no folder: a link could lead anywhere. */
async function isFolder(path: string): Promise<boolean> {
  const stats = await orNothing(lstat(path));
  if (stats !== undefined && !stats.isDirectory()) throw new Error(`path ${path} is not a directory`);
  return stats !== undefined;
}

async function readRoots(path: string): Promise<readonly string[]> {
  const text = await orNothing(readFile(path, 'utf8'));
  return text === undefined ? [] : (JSON.parse(text) as string[]);
}

async function writeRoots(path: string, roots: readonly string[]): Promise<void> {
  await writeFile(`${path}.new`, JSON.stringify(roots));
  await rename(`${path}.new`, path);
}

async function orNothing<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
