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

/**
 * Lines that go to a bounded set of files: FILE, FILE.1 (the one before) ... Adding a line does not wait for the disk.
 */
export interface AuditFile {
  add(line: string): void;
  /** Writes what waits, then nothing more. */
  close(): Promise<void>;
}

/** Long enough to write many lines at once, short enough for who follows the log. */
const gatherMs = 100;
const warnEveryMs = 60_000;

export function openAuditFile(options: AuditFileOptions): AuditFile {
  return new BoundedAuditFile(options);
}

class BoundedAuditFile implements AuditFile {
  readonly #options: AuditFileOptions;
  readonly #maxBytes: number;
  readonly #keep: number;
  readonly #maxWaitingBytes: number;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #lost = 0;
  #warnedAt = Number.NEGATIVE_INFINITY;
  #file: FileHandle | undefined;
  #size = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: AuditFileOptions) {
    this.#options = options;
    this.#maxBytes = options.maxBytes ?? 10_000_000;
    this.#keep = options.keep ?? 10;
    this.#maxWaitingBytes = options.maxWaitingBytes ?? 8_000_000;
  }

  add(line: string): void {
    if (this.#isClosed) return;
    if (this.#waitingBytes + line.length > this.#maxWaitingBytes) this.#lost++;
    else {
      this.#waiting.push(`${line}\n`);
      this.#waitingBytes += line.length + 1;
    }
    this.#schedule();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#writing;
    await this.#flush();
    await this.#file?.close().catch(() => {});
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    if (this.#timer || this.#writing || this.#waiting.length === 0) return;
    this.#timer = setTimeout(() => void this.#flush(), gatherMs);
    this.#timer.unref();
  }

  #flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
      this.#schedule();
    });
    return this.#writing;
  }

  async #write(): Promise<void> {
    const lines = this.#waiting;
    const missing = this.#lost;
    [this.#waiting, this.#waitingBytes, this.#lost] = [[], 0, 0];
    if (missing > 0) lines.push(`${JSON.stringify({ time: new Date().toISOString(), lost: missing })}\n`);
    if (lines.length === 0) return;
    try {
      await this.#append(Buffer.from(lines.join('')));
    } catch (error) {
      this.#lost += lines.length + missing - (missing > 0 ? 1 : 0);
      await this.#file?.close().catch(() => {});
      this.#file = undefined;
      this.#warn(error);
    }
  }

  async #append(bytes: Buffer): Promise<void> {
    if (this.#file && this.#size > 0 && this.#size + bytes.length > this.#maxBytes) await this.#rotate();
    if (!this.#file) {
      await mkdir(dirname(this.#options.path), { recursive: true, mode: 0o700 });
      this.#file = await open(this.#options.path, 'a', 0o600);
      this.#size = (await this.#file.stat()).size;
    }
    await this.#file.appendFile(bytes);
    this.#size += bytes.length;
  }

  async #rotate(): Promise<void> {
    const { path } = this.#options;
    await this.#file?.close();
    this.#file = undefined;
    await rm(`${path}.${this.#keep - 1}`, { force: true });
    for (let at = this.#keep - 2; at >= 1; at--) await moveIfThere(`${path}.${at}`, `${path}.${at + 1}`);
    await moveIfThere(path, `${path}.1`);
  }

  #warn(error: unknown): void {
    const now = performance.now();
    if (now - this.#warnedAt < warnEveryMs) return;
    this.#warnedAt = now;
    this.#options.log.warn(
      { err: error, path: this.#options.path, lost: this.#lost },
      'the audit log cannot be written: calls are served, and lines are lost',
    );
  }
}

async function moveIfThere(from: string, to: string): Promise<void> {
  await rename(from, to).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}
