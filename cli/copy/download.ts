import { createWriteStream } from 'node:fs';
import { chmod, copyFile, lstat, mkdir, rm, stat, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract, type Header } from 'tar-stream';
import { badRequest } from '../../api/errors/index.ts';
import type { FileStat } from '../../api/generated/types.ts';
import { entryPath, staysInside } from './archive-path.ts';

export interface DownloadOptions {
  /** Whether files keep their permissions. */
  readonly preserve: boolean;
  /** Called for each entry that is skipped, with the reason. */
  warn(message: string): void;
}

/**
 * Links are kept in memory and made last, so that nothing is written through them.
 * An archive with more links is refused.
 */
const mostLinks = 100_000;

interface Link {
  readonly path: string[];
  readonly target: string;
}

/**
 * Unpacks the archive of a file or directory of a container. A file becomes `destination`, or is put into it when that
 * is a directory; the content of a directory is put into `destination`, which is created when it is missing. Entries
 * that lead out of it are skipped with a warning. Throws INVALID_ARGUMENT.
 */
export async function unpack(
  source: FileStat,
  archive: AsyncIterable<Buffer>,
  destination: string,
  options: DownloadOptions,
): Promise<void> {
  const root = await chooseTarget(source, destination);
  const links: Link[] = [];
  const modes: { readonly path: string; readonly mode: number }[] = [];
  const unpacking = extract();
  const feeding = pipeline(Readable.from(archive), unpacking as unknown as Writable);
  feeding.catch(() => {});
  for await (const entry of unpacking) {
    const { header } = entry;
    const path = entryPath(header.name);
    if (path === undefined) options.warn(`skipped "${header.name}": its name leads out of what is copied`);
    else if (header.type === 'file') await writeFile(entry, join(root, ...path), header, options);
    else if (header.type === 'directory') {
      await mkdir(join(root, ...path), { recursive: true });
      modes.push({ path: join(root, ...path), mode: header.mode ?? 0o755 });
    } else if (header.type === 'symlink') keepLink(links, { path, target: header.linkname ?? '' }, header, options);
    else if (header.type === 'link') await copyHardLink(root, path, header, options);
    else options.warn(`skipped "${header.name}": it is no file, directory or link`);
    entry.resume();
  }
  await feeding;
  for (const link of links) await makeLink(root, link, options);
  // Directories get their modes last, the innermost first: a mode may forbid writing into the directory.
  if (options.preserve) for (const { path, mode } of modes.reverse()) await chmod(path, mode & 0o777);
}

async function chooseTarget(source: FileStat, destination: string): Promise<string> {
  const there = await stat(destination).catch(() => undefined);
  if (source.type === 'directory') {
    if (there && !there.isDirectory()) throw badRequest(`"${destination}" is a file; a directory cannot be copied over it`);
    return destination;
  }
  if (there?.isDirectory()) return join(destination, ownName(source));
  const parent = await stat(dirname(destination)).catch(() => undefined);
  if (!parent?.isDirectory() || destination.endsWith('/'))
    throw badRequest(`no such directory: ${destination.endsWith('/') ? destination : dirname(destination)}`);
  return destination;
}

/** The name comes from the node, which may be compromised. */
function ownName({ name = '' }: FileStat): string {
  if (name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name)) return name;
  throw badRequest(`the node names the file "${name}", which is no name of a file: nothing was copied`);
}

async function writeFile(content: AsyncIterable<unknown>, path: string, { mode = 0o644 }: Header, { preserve }: DownloadOptions) {
  await mkdir(dirname(path), { recursive: true });
  // Never write through an existing link.
  await removeLink(path);
  await pipeline(content, createWriteStream(path));
  if (preserve) await chmod(path, mode & 0o777);
}

function keepLink(links: Link[], link: Link, { name }: Header, { warn }: DownloadOptions): void {
  if (!staysInside(link.path, link.target)) warn(`skipped link "${name}" -> "${link.target}": it leads out of what is copied`);
  else if (links.length >= mostLinks) throw badRequest(`more than ${mostLinks} links are not copied`);
  else links.push(link);
}

async function makeLink(root: string, { path, target }: Link, { warn }: DownloadOptions): Promise<void> {
  const at = join(root, ...path);
  // `staysInside` counted the directories in the link's name; behind another link there may be fewer.
  if (!(await isReached(root, path.slice(0, -1))))
    return warn(`skipped link "${path.join('/')}" -> "${target}": its directory is a link`);
  await mkdir(dirname(at), { recursive: true });
  await removeLink(at);
  try {
    await symlink(target, at);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    warn(`skipped link "${path.join('/')}" -> "${target}": "${basename(at)}" is there already`);
  }
}

/** Whether none of the existing directories on this path below the root is a link. */
async function isReached(root: string, folders: readonly string[]): Promise<boolean> {
  let at = root;
  for (const folder of folders) {
    at = join(at, folder);
    const there = await lstat(at).catch(() => undefined);
    if (there === undefined) return true;
    if (there.isSymbolicLink()) return false;
  }
  return true;
}

async function copyHardLink(root: string, path: readonly string[], { name, linkname }: Header, { warn }: DownloadOptions) {
  const target = entryPath(linkname ?? '');
  if (target === undefined) return warn(`skipped "${name}": the file that it is linked to is not in what is copied`);
  await mkdir(dirname(join(root, ...path)), { recursive: true });
  await removeLink(join(root, ...path));
  await copyFile(join(root, ...target), join(root, ...path));
}

async function removeLink(path: string): Promise<void> {
  const there = await lstat(path).catch(() => undefined);
  if (there?.isSymbolicLink()) await rm(path);
}
