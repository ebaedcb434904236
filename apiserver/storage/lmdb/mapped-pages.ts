import { readFileSync } from 'node:fs';
import type { StorageClock } from '../clock.ts';
import type { Tables } from './tables.ts';

const mebi = 1024 * 1024;
/** What of files may be in memory beyond what was there after the last release. */
export const mostMappedBytes = 32 * mebi;
/** A release takes milliseconds, and what is used all the time is mapped again after it. */
export const releaseEveryMs = 5 * 60_000;

export interface MappedPagesOptions {
  readonly tables: Pick<Tables, 'remap'>;
  readonly clock: StorageClock;
  /** Bytes of files that this process has mapped and in memory; 0 where the system does not say. */
  readonly mappedBytes?: (() => number) | undefined;
}

/**
 * Gives back the pages of the store's file. Each page that a read or a commit looks at stays mapped, and the kernel
 * maps those around it as well, so that the process seems to hold the whole history, until the system runs short of
 * memory.
 */
export class MappedPages {
  readonly #tables: Pick<Tables, 'remap'>;
  readonly #clock: StorageClock;
  readonly #mappedBytes: () => number;
  #lookedAt: number;
  #least: number;

  constructor({ tables, clock, mappedBytes = readMappedBytes }: MappedPagesOptions) {
    this.#tables = tables;
    this.#clock = clock;
    this.#mappedBytes = mappedBytes;
    this.#lookedAt = clock.now();
    this.#least = mappedBytes();
  }

  /** Call it while nothing is written. Never rejects: a file that cannot be opened again fails what is read next. */
  async release(): Promise<void> {
    const now = this.#clock.now();
    if (now - this.#lookedAt < releaseEveryMs && now >= this.#lookedAt) return;
    this.#lookedAt = now;
    if (this.#mappedBytes() - this.#least <= mostMappedBytes) return;
    await new Promise<void>((resolve) => {
      setImmediate(() => this.#tables.remap().then(resolve, () => resolve()));
    });
    this.#least = this.#mappedBytes();
  }
}

/** Of all files, of which the program's own do not change. */
function readMappedBytes(): number {
  try {
    return Number(readFileSync('/proc/self/status', 'utf8').match(/^RssFile:\s+(\d+)/m)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
