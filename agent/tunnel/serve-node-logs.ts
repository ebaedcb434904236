import { constants, type Dirent } from 'node:fs';
import { type FileHandle, open, opendir, readlink, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { badRequest, exhausted, notFound, permissionDenied } from '../../api/errors/index.ts';
import type { GetNodeLogRequest } from '../../api/generated/types.ts';
import type { TunnelStream } from '../../client/client.ts';

/** The folder whose files a kubelet serves as /logs/. */
export const nodeLogFolder = '/var/log';
const pieceBytes = 64 * 1024;
const namesInPiece = 500;
/** A folder of more is refused: its names are sorted in memory. */
const mostNames = 10_000;

/**
 * Sends a file below the folder as long as it was when it was opened, or the names in a folder, those of folders with a
 * slash behind. A kubelet follows links to anywhere, and so shows all files of the node to pods that may make a link in
 * the folder: here the file that was opened must be below it. Throws ApiError.
 */
export async function serveNodeLogs(
  folder: string,
  { path = '', isHead = false }: GetNodeLogRequest,
  stream: TunnelStream,
): Promise<void> {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..') || path.includes('\0')) throw badRequest(`"${path.slice(0, 200)}" is no path below ${folder}`);
  const subject = { kind: 'log', name: path.slice(0, 200) };
  const handle = await openBelow(folder, parts).catch((error: unknown) => {
    throw asMissing(error) ? notFound(subject) : error;
  });
  try {
    const stats = await handle.stat();
    const isFolder = stats.isDirectory();
    const isWanted = !isHead && isFolder === (path === '' || path.endsWith('/'));
    if (!isWanted) await stream.write({ nodeLog: { isFolder } });
    else if (isFolder) await sendNames(handle, folder, stream);
    else await sendFile(handle, stats.size, stream);
  } finally {
    await handle.close();
  }
}

/** Linux's open(2): only names a file, without its driver's part in it. node:fs does not have it. */
const O_PATH = 0o10000000;

/**
 * Found first and judged afterwards: the path may change in between, what was found does not. Only then it is opened,
 * because opening alone makes some devices act, such as a watchdog or a tape, and a pod may put one into the folder.
 */
async function openBelow(folder: string, parts: readonly string[]): Promise<FileHandle> {
  const root = await realpath(folder);
  const place = await realpath(join(root, ...parts));
  requireBelow(root, place);
  const found = await open(place, O_PATH | constants.O_NOFOLLOW);
  try {
    const itself = `/proc/self/fd/${found.fd}`;
    requireBelow(root, await readlink(itself));
    const stats = await found.stat();
    if (!stats.isDirectory() && !stats.isFile())
      throw badRequest(`"${parts.join('/').slice(0, 200)}" is neither a file nor a folder`);
    // Fails at once where another process holds a lease on the file (fcntl), instead of waiting for it.
    return await open(itself, constants.O_RDONLY | constants.O_NONBLOCK);
  } finally {
    await found.close();
  }
}

function requireBelow(root: string, place: string): void {
  if (place !== root && !place.startsWith(root + sep)) throw permissionDenied(`a link leads out of ${root}`);
}

const missingCodes = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG']);
const asMissing = (error: unknown): boolean => missingCodes.has((error as NodeJS.ErrnoException).code ?? '');

async function sendNames(handle: FileHandle, folder: string, stream: TunnelStream): Promise<void> {
  const names: string[] = [];
  for await (const entry of await opendir(`/proc/self/fd/${handle.fd}`)) {
    if (names.length === mostNames) throw exhausted(`the folder below ${folder} holds more than ${mostNames} files`);
    names.push(nameOf(entry));
  }
  names.sort();
  await stream.write({ nodeLog: { isFolder: true } });
  for (let at = 0; at < names.length; at += namesInPiece)
    await stream.write({ nodeLog: { isFolder: true, names: names.slice(at, at + namesInPiece) } });
}

const nameOf = (entry: Dirent): string => (entry.isDirectory() ? `${entry.name}/` : entry.name);

async function sendFile(handle: FileHandle, size: number, stream: TunnelStream): Promise<void> {
  const block = Buffer.allocUnsafe(pieceBytes);
  let at = 0;
  // An empty file has a piece, too: it says that the file is there.
  do {
    const { bytesRead } = await handle.read(block, 0, Math.min(block.length, size - at), at);
    await stream.write({ nodeLog: { data: Buffer.from(block.subarray(0, bytesRead)) } });
    if (bytesRead === 0) return;
    at += bytesRead;
  } while (at < size);
}
