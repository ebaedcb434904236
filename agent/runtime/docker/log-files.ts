import { type FSWatcher, watch } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { onAbort } from '../../../client/abort.ts';
import { RuntimeError } from '../runtime-error.ts';
import { entryTime } from './log-entries.ts';

/**
 * Where the engine's "json-file" driver keeps a container's log: PATH is being written, PATH.1 is older,
 * PATH.2 still older.
 */
export interface LogPlace {
  readonly path: string;
  /** How many files it keeps, with the one that is being written. */
  readonly files: number;
}

const blockBytes = 64 * 1024;
/** The engine's entries are shorter: at most 16 KiB, of which each byte may be written with six. */
const entryBytes = 128 * 1024;
/** No engine writes faster: Docker 20.10 reaches 0.3 bytes in a nanosecond. */
const mostBytesPerNs = 4n;
/** While the engine changes the file there is none for a moment. */
const openTries = 50;
const openRetryMs = 5;
/** A change that the kernel does not tell of is found this late. */
const pollMs = 1_000;
/** The poll interval when the kernel has no inotify watch left. */
const unwatchedPollMs = 100;
/** Of a log that grows all the time, what is written in this time is read at once: the first line comes immediately. */
const gatherMs = 10;

/** One of the log's files, read from its beginning to its end. What it holds can be read also after it was deleted. */
export class LogFile {
  readonly #handle: FileHandle;
  readonly inode: bigint;
  /** When it was opened. */
  readonly size: number;
  readonly changedAtMs: number;
  position = 0;

  private constructor(handle: FileHandle, { ino, size, mtimeMs }: { ino: bigint; size: bigint; mtimeMs: bigint }) {
    this.#handle = handle;
    this.inode = ino;
    this.size = Number(size);
    this.changedAtMs = Number(mtimeMs);
  }

  static async open(path: string): Promise<LogFile | undefined> {
    const handle = await unlessMissing(open(path, 'r'));
    if (handle === undefined) return undefined;
    try {
      return new LogFile(handle, await handle.stat({ bigint: true }));
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** What there is, from the position up to `end`. */
  async *read(block: Buffer, end = Number.POSITIVE_INFINITY): AsyncGenerator<Buffer> {
    for (;;) {
      const wanted = Math.min(block.length, end - this.position);
      const { bytesRead } = wanted > 0 ? await this.#handle.read(block, 0, wanted, this.position) : { bytesRead: 0 };
      if (bytesRead === 0) return;
      this.position += bytesRead;
      yield block.subarray(0, bytesRead);
    }
  }

  /** Moves the position to where the last so many lines begin; returns how many of them must be in older files. */
  async skipToLast(lines: number, block: Buffer): Promise<number> {
    let left = lines;
    for (let end = this.size; end > 0; ) {
      const start = Math.max(0, end - block.length);
      const { bytesRead } = await this.#handle.read(block, 0, end - start, start);
      for (let at = block.lastIndexOf(10, bytesRead - 1); at >= 0; at = at === 0 ? -1 : block.lastIndexOf(10, at - 1)) {
        if (left === 0) {
          this.position = start + at + 1;
          return 0;
        }
        left--;
      }
      end = start;
    }
    this.position = 0;
    return left;
  }

  /** The first and the last line, without their ends; undefined where there is none, or it is longer than an entry. */
  async firstLine(): Promise<string | undefined> {
    const { bytesRead, buffer } = await this.#handle.read(Buffer.allocUnsafe(entryBytes), 0, entryBytes, 0);
    const end = buffer.subarray(0, bytesRead).indexOf(10);
    return end < 0 ? undefined : buffer.toString('utf8', 0, end);
  }

  async lastLine(): Promise<string | undefined> {
    const from = Math.max(0, this.position - entryBytes);
    const { bytesRead, buffer } = await this.#handle.read(Buffer.allocUnsafe(entryBytes), 0, this.position - from, from);
    if (bytesRead < 2 || buffer[bytesRead - 1] !== 10) return undefined;
    const before = buffer.lastIndexOf(10, bytesRead - 2);
    return before < 0 && from > 0 ? undefined : buffer.toString('utf8', before + 1, bytesRead - 1);
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

/**
 * Opens the files of a log as they are at one moment, the oldest first. Undefined: there is none to read. The engine
 * may change files meanwhile, so it looks again until none has moved.
 */
export async function openLogFiles({ path, files }: LogPlace): Promise<LogFile[] | undefined> {
  for (let attempt = 0; attempt < openTries; attempt++) {
    if (attempt > 0) await delay(openRetryMs);
    const opened: LogFile[] = [];
    let settled = false;
    try {
      for (let index = 0; index < files; index++) {
        const file = await LogFile.open(index === 0 ? path : `${path}.${index}`);
        if (file) opened.unshift(file);
      }
      const newest = opened.at(-1)?.inode;
      settled =
        newest !== undefined &&
        newest === (await inodeOf(path)) &&
        new Set(opened.map((file) => file.inode)).size === opened.length;
      if (settled) return opened;
    } finally {
      if (!settled) await closeAll(opened);
    }
  }
  return undefined;
}

/** Which part of a log is read. */
export interface LogPart {
  /** Only so many entries from the end. */
  readonly tailLines: number | undefined;
  /** Leaves out files in which nothing is newer; of the others the reader of the blocks chooses the entries. */
  readonly sinceTime: Date | undefined;
  /** Ends the reading early. */
  readonly signal: AbortSignal;
  /** Given to follow the log: aborts when the container has ended, and with it its log. */
  readonly ended?: AbortSignal | undefined;
}

/** Some bytes, which the next block overwrites; or that all that is there has been read, for now or of this file. */
export type LogBlock = Buffer | 'all-read' | 'file-ended';

/**
 * The bytes of a log. Without `ended` up to where the log was when it was opened. Takes the files over and closes them.
 *
 * The engine deletes files that a slow reader has not begun: throws `overtaken` then,
 * so that no line is left out without a word.
 */
export async function* readLogFiles(place: LogPlace, files: LogFile[], part: LogPart): AsyncGenerator<LogBlock> {
  const block = Buffer.allocUnsafe(blockBytes);
  try {
    await skipToBeginning(files, part, block);
    for (let file = files[0]; file !== undefined; file = files[0]) {
      if (files.length > 1) yield* file.read(block);
      else if (part.ended === undefined) return yield* file.read(block, file.size);
      else if (yield* followFile(place.path, file, block, part)) files.push(...(await openAfter(file, place)));
      else return;
      yield 'file-ended';
      files.shift();
      await file.close();
    }
  } finally {
    await closeAll(files);
  }
}

/** Closes and takes out the files of which nothing is wanted, and moves the positions in the others. */
async function skipToBeginning(files: LogFile[], { tailLines, sinceTime }: LogPart, block: Buffer): Promise<void> {
  let first = 0;
  if (tailLines !== undefined) {
    first = files.length - 1;
    let left = await files[first]!.skipToLast(tailLines, block);
    while (left > 0 && first > 0) left = await files[--first]!.skipToLast(left, block);
  }
  const sinceMs = sinceTime?.getTime() ?? Number.NEGATIVE_INFINITY;
  while (first < files.length - 1 && files[first]!.changedAtMs < sinceMs) first++;
  await closeAll(files.splice(0, first));
}

/** Reads the newest file as it grows, until there is a newer one (true) or the container has ended (false). */
async function* followFile(
  path: string,
  file: LogFile,
  block: Buffer,
  { signal, ended }: LogPart,
): AsyncGenerator<LogBlock, boolean> {
  while (!signal.aborted) {
    // Begun before the look, so that nothing is missed in between.
    const change = watchFile(path, [signal, ended]);
    try {
      const hasEnded = ended?.aborted;
      const before = file.position;
      yield* file.read(block);
      const now = await unlessMissing(stat(path, { bigint: true }));
      if (now && now.ino !== file.inode) {
        // The engine has written its last into this file before it made the next one.
        yield* file.read(block);
        return true;
      }
      if (now && Number(now.size) < file.position) throw overtaken('another program has cut it off');
      if (hasEnded) return false;
      yield 'all-read';
      await (file.position > before ? delay(gatherMs) : change.happened());
    } finally {
      change.close();
    }
  }
  return false;
}

/** The files that are newer than this one. None: the log was removed. */
async function openAfter(file: LogFile, place: LogPlace): Promise<LogFile[]> {
  const opened = (await openLogFiles(place)) ?? [];
  const at = opened.findIndex(({ inode }) => inode === file.inode);
  const [oldest] = opened;
  if (oldest && at < 0 && !(await isNext(oldest, file))) {
    await closeAll(opened);
    throw overtaken(`it was written faster than it was read, and only its last ${place.files} files are kept`);
  }
  await closeAll(opened.splice(0, at + 1));
  return opened;
}

/**
 * Whether nothing can have been written between the two, of which the engine has deleted the older one: a file between
 * them would hold as much as this one, and there was no time for that.
 */
async function isNext(next: LogFile, file: LogFile): Promise<boolean> {
  const [last, first] = await Promise.all([file.lastLine(), next.firstLine()]);
  const [from, to] = [last && entryTime(last), first && entryTime(first)];
  if (typeof from !== 'bigint' || typeof to !== 'bigint') return false;
  const span = to > from ? to - from : from - to;
  return span * mostBytesPerNs <= BigInt(file.position);
}

function overtaken(why: string): RuntimeError {
  return new RuntimeError('overtaken', `lines of the log are missing: ${why}`);
}

/** Notices changes of the file from now on. */
function watchFile(path: string, stops: readonly (AbortSignal | undefined)[]) {
  let wake = (): void => {};
  let hasChanged = stops.some((stop) => stop?.aborted);
  const changed = (): void => {
    hasChanged = true;
    wake();
  };
  const unlink = stops.map((stop) => onAbort(stop, changed));
  let watcher: FSWatcher | undefined;
  try {
    watcher = watch(path, changed).on('error', changed);
  } catch {
    // There is no file at this moment, or the kernel has no watch left.
  }
  return {
    /** Resolves at the first change, and after a while also without. */
    happened: (): Promise<void> =>
      new Promise((resolve) => {
        if (hasChanged) return resolve();
        const timer = setTimeout(resolve, watcher ? pollMs : unwatchedPollMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      }),
    close(): void {
      watcher?.close();
      for (const each of unlink) each();
    },
  };
}

async function inodeOf(path: string): Promise<bigint | undefined> {
  return (await unlessMissing(stat(path, { bigint: true })))?.ino;
}

async function unlessMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

export async function closeAll(files: readonly LogFile[]): Promise<void> {
  await Promise.all(files.map((file) => file.close()));
}
