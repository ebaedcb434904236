import { constants } from 'node:fs';
import { chmod, type FileHandle, mkdir, open, readlink } from 'node:fs/promises';

/** The path would lead out of the volume, or nowhere that can be reached. The message is for the user. */
export class OutsideVolumeError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'OutsideVolumeError';
  }
}

// Not among Node.js' constants: a handle for an inode itself, which opens no device and waits for no pipe.
const handleOnly = 0o10000000;
const step = handleOnly | constants.O_NOFOLLOW;
/** The kernel follows so many links and no more. */
const mostLinks = 40;
/** Each level holds a file descriptor. */
const deepest = 256;
const permissionBits = 0o7777;

/**
 * Opens a file or folder inside of a volume, for its handle only; folders that are missing are made, with the
 * permissions of the volume. The caller closes the handle.
 *
 * A container may change the volume at the same time. So no path is ever resolved by the kernel: each part is opened
 * through the handle of the folder it is in, without following links, and a link is read and walked like the rest. What
 * leads above the volume, or begins at the root of the machine, is refused. Whatever is renamed or replaced meanwhile,
 * the handle is of something that was inside.
 */
export async function openInside(volume: string, path: string): Promise<FileHandle> {
  checkPath(path);
  const stack = [await open(volume, handleOnly | constants.O_DIRECTORY)];
  try {
    const mode = (await stack[0]!.stat()).mode & permissionBits;
    const left = partsOf(path).reverse();
    for (let links = 0; left.length > 0; ) {
      const part = left.pop()!;
      if (part === '..') {
        await leave(stack, path);
        continue;
      }
      const at = `/proc/self/fd/${stack.at(-1)!.fd}/${part}`;
      const next = (await openStep(at)) ?? (await makeStep(at, mode));
      const stats = await next.stat();
      if (!stats.isSymbolicLink()) {
        stack.push(next);
        if (left.length > 0 && !stats.isDirectory()) throw new OutsideVolumeError(`"${part}" in "${path}" is not a folder`);
        if (stack.length > deepest) throw new OutsideVolumeError(`"${path}" is nested deeper than ${deepest} folders`);
        continue;
      }
      await next.close();
      if (++links > mostLinks) throw new OutsideVolumeError(`"${path}" leads through more than ${mostLinks} links`);
      left.push(...(await linkParts(at, path)).reverse());
    }
    return stack.pop()!;
  } finally {
    for (const handle of stack) await handle.close();
  }
}

/** What a user may write; the API server checks most of it, and a value from a variable comes only now. */
function checkPath(path: string): void {
  if (path.startsWith('/')) throw new OutsideVolumeError(`"${path}" is an absolute path, not one inside of the volume`);
  if (path.split('/').includes('..')) throw new OutsideVolumeError(`"${path}" must not contain ".."`);
  if (path.includes('\0')) throw new OutsideVolumeError('a path cannot hold a zero byte');
}

const partsOf = (path: string): string[] => path.split('/').filter((part) => part !== '' && part !== '.');

async function leave(stack: FileHandle[], path: string): Promise<void> {
  if (stack.length === 1) throw new OutsideVolumeError(`"${path}" leads out of the volume through a link`);
  await stack.pop()!.close();
}

async function linkParts(at: string, path: string): Promise<string[]> {
  const target = await readlink(at);
  if (target.startsWith('/')) throw new OutsideVolumeError(`"${path}" leads out of the volume through a link to "${target}"`);
  return partsOf(target);
}

async function openStep(at: string): Promise<FileHandle | undefined> {
  try {
    return await open(at, step);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function makeStep(at: string, mode: number): Promise<FileHandle> {
  try {
    await mkdir(at, { mode: 0o750 });
  } catch (error) {
    // Another process made it in this moment: it is opened like what was there.
    if (codeOf(error) !== 'EEXIST') throw error;
    return open(at, step);
  }
  const made = await open(at, step | constants.O_DIRECTORY);
  // The process's umask cuts the mode given on creation.
  await chmod(`/proc/self/fd/${made.fd}`, mode);
  return made;
}

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined);
