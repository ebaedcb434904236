import { type FileHandle, open } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { badRequest } from '../../api/errors/index.ts';

/** A line of the audit log, as far as it is shown. */
export interface AuditLine {
  readonly time?: string;
  readonly stage?: string;
  readonly user?: string;
  readonly by?: string;
  readonly verb?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly code?: string;
  readonly message?: string;
  /** The user is refused so often that more of that is left out. */
  readonly moreRefused?: boolean;
  /** The user reads so often that more of that is left out. */
  readonly moreReads?: boolean;
  /** So many lines of the user and of a sort ("reads") were left out since a time. */
  readonly leftOut?: number;
  readonly sort?: string;
  readonly since?: string;
  /** So many lines are missing here: they could not be written. */
  readonly lost?: number;
}

export interface ReadAuditOptions {
  /** The newest of the files. */
  readonly path: string;
  /** Goes on with what is written from now on. */
  readonly follow: boolean;
  readonly signal: AbortSignal;
  /** Called when everything that there is was given, and more is waited for. */
  readonly idle?: () => void;
}

const mostFiles = 100;
const lookEveryMs = 250;
const pieceBytes = 256 * 1024;

/** The lines of the log as text, the oldest first. Throws when there is none, or it may not be read. */
export async function* readAudit({ path, follow, signal, idle }: ReadAuditOptions): AsyncGenerator<string> {
  for (const older of await olderFiles(path)) {
    yield* readLines(older);
    await older.close();
  }
  let file = await openFile(path);
  try {
    for (const lines = lineReader(); ; ) {
      yield* readLines(file, lines);
      if (!follow || signal.aborted) return;
      idle?.();
      await delay(lookEveryMs, undefined, { signal }).catch(() => {});
      const next = await openIfThere(path);
      if (!next) continue;
      if ((await next.stat()).ino === (await file.stat()).ino) {
        await next.close();
        continue;
      }
      // It was put aside: what was written last, then the new one.
      yield* readLines(file, lines);
      await file.close();
      file = next;
    }
  } finally {
    await file.close();
  }
}

async function olderFiles(path: string): Promise<FileHandle[]> {
  const files: FileHandle[] = [];
  for (let at = 1; at < mostFiles; at++) {
    const file = await openIfThere(`${path}.${at}`);
    if (!file) break;
    files.unshift(file);
  }
  return files;
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw explain(path, error);
  }
}

async function openFile(path: string): Promise<FileHandle> {
  const file = await openIfThere(path);
  if (file) return file;
  throw badRequest(
    `there is no audit log ${path}: it is on the machine of the server, in its data directory; --data-dir says where that is`,
  );
}

function explain(path: string, error: unknown): Error {
  const { code, message } = error as NodeJS.ErrnoException;
  return badRequest(`read ${path}: ${code === 'EACCES' ? 'only its owner may read it' : message}`);
}

/** Keeps what is no whole line yet. */
function lineReader() {
  let rest = Buffer.alloc(0);
  return (piece: Buffer): string[] => {
    const bytes = Buffer.concat([rest, piece]);
    const end = bytes.lastIndexOf(10) + 1;
    rest = bytes.subarray(end);
    return bytes.toString('utf8', 0, end).split('\n').filter(Boolean);
  };
}

async function* readLines(file: FileHandle, lines = lineReader()): AsyncGenerator<string> {
  const piece = Buffer.alloc(pieceBytes);
  for (;;) {
    const { bytesRead } = await file.read(piece, 0, piece.length, null);
    if (bytesRead === 0) return;
    yield* lines(Buffer.from(piece.subarray(0, bytesRead)));
  }
}

/** A line that is none: cut off when the machine lost its power. */
export function parseLine(text: string): AuditLine | undefined {
  try {
    const line: unknown = JSON.parse(text);
    return typeof line === 'object' && line !== null ? line : undefined;
  } catch {
    return undefined;
  }
}
