import { statfsSync } from 'node:fs';
import type { StorageClock } from '../clock.ts';
import { StorageError } from '../storage-error.ts';
import type { Tables } from './tables.ts';

const mebi = 1024 * 1024;
/**
 * Pages for a few thousand deletions and statuses; each piece small enough that giving it up needs no run of pages
 * itself.
 */
const pieces = 16;
const pieceBytes = mebi / 4;
const keys = Array.from({ length: pieces }, (_, index) => `reserve-${index}`);
/** Below this only what ends or reports something is written: what is left belongs to that, and to the machine. */
export const lowBytes = 8 * mebi;
/** Taking it back must not bring the disk near that again. */
const plentyBytes = lowBytes + 3 * pieces * pieceBytes;
/** The shortest interval between checks of free space. */
const askEveryMs = 200;
const swallow = (): void => undefined;

export interface ReserveOptions {
  readonly tables: Tables;
  readonly directory: string;
  readonly clock: StorageClock;
  /** Free bytes of the disk; by default from statfs. */
  readonly freeBytes?: ((directory: string) => number) | undefined;
}

/**
 * Space in the store's own file, reserved for a full disk. On a disk that is nearly full new objects and changes are
 * refused; then the reserve's pages are given up, and deletions and statuses, which are what frees space, use them. No
 * other program can take them meanwhile. It is taken back when there is space again. (A file system that never writes
 * in place, as btrfs, has only the margin.)
 */
export class Reserve {
  readonly #options: ReserveOptions;
  #isHeld: boolean;
  #askedAt = Number.NEGATIVE_INFINITY;
  #free = Number.POSITIVE_INFINITY;

  constructor(options: ReserveOptions) {
    this.#options = options;
    this.#isHeld = keys.every((key) => options.tables.meta.get(key) !== undefined);
  }

  get isLow(): boolean {
    return this.#freeBytes() < lowBytes;
  }

  /** Refuses what can wait while the disk is nearly full. */
  check(): void {
    if (this.isLow) throw fullDisk(this.#options.directory);
  }

  /** Before a commit: gives the reserve up, or takes it back. Neither may keep the commit from being tried. */
  async prepare(): Promise<void> {
    try {
      if (this.#isHeld && this.isLow) await this.#release();
      else if (!this.#isHeld && this.#freeBytes() > plentyBytes) await this.#take();
    } catch {
      // On a disk that is full to the last page even this may fail; the commit that follows says so.
    }
  }

  #freeBytes(): number {
    const { clock, directory, freeBytes = ask } = this.#options;
    const now = clock.now();
    if (now - this.#askedAt < askEveryMs && now >= this.#askedAt) return this.#free;
    this.#askedAt = now;
    this.#free = freeBytes(directory);
    return this.#free;
  }

  async #take(): Promise<void> {
    const { root, meta } = this.#options.tables;
    await root.batch(() => {
      for (const key of keys) meta.put(key, Buffer.alloc(pieceBytes)).catch(swallow);
    });
    this.#isHeld = true;
  }

  async #release(): Promise<void> {
    const { root, meta } = this.#options.tables;
    // One after the other: lmdb uses the pages that a transaction freed from the next but one on.
    for (const key of keys) await root.batch(() => void meta.remove(key).catch(swallow));
    await root.batch(() => void meta.remove('reserve').catch(swallow));
    this.#isHeld = false;
  }
}

export function fullDisk(directory: string, cause?: unknown): StorageError {
  const words = `the disk of ${directory} is full: free some space there; reads and deletions go on, and writes as soon as there is space`;
  return new StorageError('no-space', words, cause === undefined ? {} : { cause });
}

function ask(directory: string): number {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  } catch {
    // A disk that does not say how full it is still refuses what does not fit.
    return Number.POSITIVE_INFINITY;
  }
}
