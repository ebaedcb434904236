import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, opendir, rename, rmdir, unlink } from 'node:fs/promises';

/** A level holds two file descriptors. What is deeper is moved up first. */
const deepest = 32;
/** Files that are removed at the same time. */
const filesAtOnce = 64;
const folderOnly = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * Removes a file, or a folder with all that is in it; gone is fine. Containers made the tree: it may have millions of
 * files in one folder, or paths longer than the kernel takes. So memory and descriptors are bounded, and everything is
 * reached through the handle of its folder: a link that replaces a folder meanwhile leads nowhere. Throws what the file
 * system says, and `EBUSY` for a folder that another file system is mounted on.
 */
export async function removeTree(path: string): Promise<void> {
  const stats = await unlessGone(lstat(path));
  if (stats === undefined) return;
  if (!stats.isDirectory()) return void (await unlessGone(unlink(path)));
  const root = await unlessGone(open(path, folderOnly));
  if (root === undefined) return;
  try {
    await removeFolder(path, root, { root: placeOf(root), device: (await root.stat()).dev, depth: 0 });
  } finally {
    await root.close();
  }
}

interface Walk {
  /** The folder that all is removed of, by its handle. */
  readonly root: string;
  readonly device: number;
  readonly depth: number;
}

const placeOf = ({ fd }: FileHandle): string => `/proc/self/fd/${fd}`;

/** A folder that is emptied while it is read may not show all of its entries: then it is read again. */
async function removeFolder(path: string, handle: FileHandle, walk: Walk): Promise<void> {
  for (;;) {
    const removed = await removeEntries(placeOf(handle), walk);
    try {
      return void (await unlessGone(rmdir(path)));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY' || removed === 0) throw error;
    }
  }
}

/** Says how many entries it has removed, or moved up. */
async function removeEntries(folder: string, walk: Walk): Promise<number> {
  let removed = 0;
  // Each resolves to its error.
  const files: Promise<unknown>[] = [];
  const settle = async (): Promise<void> => {
    for (const error of await Promise.all(files.splice(0))) if (error !== undefined) throw error;
  };
  try {
    for await (const entry of await opendir(folder, { bufferSize: filesAtOnce })) {
      removed++;
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) await removeInner(path, walk);
      else files.push(unlessGone(unlink(path)).catch((error: unknown) => error));
      if (files.length >= filesAtOnce) await settle();
    }
  } finally {
    await settle();
  }
  return removed;
}

async function removeInner(path: string, walk: Walk): Promise<void> {
  if (walk.depth === deepest) return void (await unlessGone(rename(path, `${walk.root}/${randomBytes(12).toString('hex')}`)));
  const handle = await unlessGone(open(path, folderOnly));
  if (handle === undefined) return;
  try {
    if ((await handle.stat()).dev !== walk.device)
      throw Object.assign(new Error(`remove ${path}: another file system is mounted on it`), { code: 'EBUSY' });
    await removeFolder(path, handle, { ...walk, depth: walk.depth + 1 });
  } finally {
    await handle.close();
  }
}

async function unlessGone<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
