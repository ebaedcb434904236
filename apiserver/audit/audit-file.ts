import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Logger } from 'pino';

export interface AuditFileOptions {
  readonly path: string;
  readonly log: Pick<Logger, 'warn'>;
  /** A file is put aside once it has this many bytes. */
  readonly maxBytes?: number;
  /** How many files there are, the current one included. */
  readonly keep?: number;
  /** What may wait to be written. Beyond, lines are left out, and a line says how many. */
  readonly maxWaitingBytes?: number;
}

/** Lines that go to a bounded set of files: FILE, FILE.1 (the one before) ... Adding a line does not wait for the disk. */
export interface AuditFile {
  add(line: string): void;
  /** Writes what waits, then nothing more. */
  close(): Promise<void>;
}

/** Long enough to write many lines at once, short enough for who follows the log. */
const gatherMs = 100;
const warnEveryMs = 60_000;

export function openAuditFile(options: AuditFileOptions): AuditFile {
  const { path, log, maxBytes = 10_000_000, keep = 10, maxWaitingBytes = 8_000_000 } = options;
  let waiting: string[] = [];
  let waitingBytes = 0;
  let lost = 0;
  let warnedAt = Number.NEGATIVE_INFINITY;
  let file: FileHandle | undefined;
  let size = 0;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;
  let isClosed = false;

  function schedule(): void {
    if (timer || writing || waiting.length === 0) return;
    timer = setTimeout(() => void flush(), gatherMs);
    timer.unref();
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    writing ??= write().finally(() => {
      writing = undefined;
      schedule();
    });
    return writing;
  }

  async function write(): Promise<void> {
    const lines = waiting;
    const missing = lost;
    [waiting, waitingBytes, lost] = [[], 0, 0];
    if (missing > 0) lines.push(`${JSON.stringify({ time: new Date().toISOString(), lost: missing })}\n`);
    if (lines.length === 0) return;
    try {
      await append(Buffer.from(lines.join('')));
    } catch (error) {
      lost += lines.length + missing - (missing > 0 ? 1 : 0);
      await file?.close().catch(() => {});
      file = undefined;
      warn(error);
    }
  }

  async function append(bytes: Buffer): Promise<void> {
    if (file && size > 0 && size + bytes.length > maxBytes) await rotate();
    if (!file) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      file = await open(path, 'a', 0o600);
      size = (await file.stat()).size;
    }
    await file.appendFile(bytes);
    size += bytes.length;
  }

  async function rotate(): Promise<void> {
    await file?.close();
    file = undefined;
    await rm(`${path}.${keep - 1}`, { force: true });
    for (let at = keep - 2; at >= 1; at--) await moveIfThere(`${path}.${at}`, `${path}.${at + 1}`);
    await moveIfThere(path, `${path}.1`);
  }

  function warn(error: unknown): void {
    const now = performance.now();
    if (now - warnedAt < warnEveryMs) return;
    warnedAt = now;
    log.warn({ err: error, path, lost }, 'the audit log cannot be written: calls are served, and lines are lost');
  }

  return {
    add(line) {
      if (isClosed) return;
      if (waitingBytes + line.length > maxWaitingBytes) lost++;
      else {
        waiting.push(`${line}\n`);
        waitingBytes += line.length + 1;
      }
      schedule();
    },
    async close() {
      isClosed = true;
      await writing;
      await flush();
      await file?.close().catch(() => {});
      clearTimeout(timer);
    },
  };
}

async function moveIfThere(from: string, to: string): Promise<void> {
  await rename(from, to).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}
