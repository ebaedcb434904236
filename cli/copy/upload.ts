import type { Stats } from 'node:fs';
import { createReadStream } from 'node:fs';
import { lstat, readdir, readlink, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Pack, pack } from 'tar-stream';
import { badRequest } from '../../api/errors/index.ts';

export interface UploadOptions {
  /** Whether files keep their permissions and, in a container that runs as root, their owner. */
  readonly preserve: boolean;
  /**
   * The user and group that the container runs as. Files copied to a container that does not run as root belong to
   * them.
   */
  readonly runsAs: { readonly uid: number; readonly gid: number };
  warn(message: string): void;
}

/** The usual umask, for files that do not keep their permissions. */
const umask = 0o022;

/** Looks at a local file or directory; a link is followed. Throws INVALID_ARGUMENT when it is missing. */
export async function lookAt(path: string): Promise<Stats> {
  try {
    return await stat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw badRequest(`${path} doesn't exist in local filesystem`);
    throw badRequest(`cannot read ${path}: ${(error as Error).message}`);
  }
}

/**
 * Streams a tar archive of a local file or directory under the name `as`,
 * "" for the content of a directory without the directory itself.
 */
export function packUp(path: string, as: string, options: UploadOptions): AsyncIterable<Uint8Array> {
  const archive = pack();
  addTree(archive, { path, name: as, top: true }, options).then(
    () => archive.finalize(),
    (error: Error) => archive.destroy(error),
  );
  return archive as AsyncIterable<Uint8Array>;
}

interface TreeItem {
  readonly path: string;
  readonly name: string;
  readonly top: boolean;
}

async function addTree(archive: Pack, { path, name, top }: TreeItem, options: UploadOptions): Promise<void> {
  const info = top ? await stat(path) : await lstat(path);
  const header = headerOf(name, info, options);
  if (info.isDirectory()) {
    if (name !== '') await add(archive, { ...header, type: 'directory' });
    for (const child of await readdir(path))
      await addTree(archive, { path: join(path, child), name: name === '' ? child : `${name}/${child}`, top: false }, options);
  } else if (info.isSymbolicLink()) await add(archive, { ...header, type: 'symlink', linkname: await readlink(path) });
  else if (info.isFile()) await addFile(archive, path, { ...header, size: info.size });
  else options.warn(`skipped ${path}: it is no file, directory or link`);
}

function headerOf(name: string, info: Stats, { preserve, runsAs }: UploadOptions) {
  const owner = preserve && runsAs.uid === 0 ? { uid: info.uid, gid: info.gid } : runsAs;
  const mode = info.mode & 0o7777;
  return { name, mode: preserve ? mode : mode & 0o777 & ~umask, mtime: info.mtime, uid: owner.uid, gid: owner.gid };
}

type Header = Parameters<Pack['entry']>[0];

function add(archive: Pack, header: Header): Promise<void> {
  return new Promise((resolve, reject) => {
    // With empty content: without any, the library waits for it.
    archive.entry(header, '', (error) => (error ? reject(error) : resolve()));
  });
}

/**
 * Adds exactly as many bytes as the header announces: a file that grows meanwhile is cut,
 * a file that shrinks is an error.
 */
async function addFile(archive: Pack, path: string, header: Header & { readonly size: number }): Promise<void> {
  if (header.size === 0) return await add(archive, header);
  await pipeline(createReadStream(path, { end: header.size - 1 }), archive.entry(header) as unknown as NodeJS.WritableStream);
}

/**
 * The target of an upload: an existing directory, and the name in it ("" for the content of a directory without the
 * directory itself).
 */
export interface UploadTarget {
  readonly directory: string;
  readonly name: string;
}

/** As `cp`: into the destination when it is a directory, otherwise under the last part of its path. */
export function chooseUploadTarget(source: string, destination: string, isDirectory: boolean): UploadTarget {
  if (!isDirectory) return { directory: parentOf(destination), name: basename(destination) };
  const name = basename(source);
  return { directory: destination, name: name === '.' || name === '..' || name === '' ? '' : name };
}

function parentOf(path: string): string {
  const parent = path.replace(/\/+$/, '').replace(/[^/]*$/, '');
  return parent === '' ? '.' : parent;
}
