import { type Dirent, lstatSync, opendirSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** What files take up on the disk. */
export interface DiskUsage {
  readonly bytes: number;
  readonly files: number;
}

/** Counted again on request when it is older than this. */
const maxAgeMs = 60_000;
/** Entries of one folder: what has more is not counted, and looked at again only after a while. */
const mostEntries = 5_000;
const tooLargeMs = 600_000;
/**
 * Entries of one round, all folders together: about a tenth of a second of processor time.
 * The rest waits for the next round.
 */
const mostEntriesInRound = 20_000;
/** Entries between two looks at what else there is to do. */
const entriesAtOnce = 250;
const blockBytes = 512;

/**
 * How much is in folders of containers. Bounded: a folder with many entries is left out, and a round ends after so
 * many; no walk goes through millions of files for a figure.
 */
export interface FolderSizes {
  /** Brings what is old up to date. Concurrent calls share one round. Never throws. */
  refresh(folders: ReadonlyMap<string, string>): Promise<void>;
  /** By the key that `refresh` got; undefined when it is not known. */
  get(key: string): DiskUsage | undefined;
}

interface Counted {
  readonly at: number;
  readonly usage: DiskUsage | undefined;
}

export function createFolderSizes(now: () => number, most = mostEntries, mostInRound = mostEntriesInRound): FolderSizes {
  const counted = new Map<string, Counted>();
  let round: Promise<void> | undefined;

  function isDue(key: string): boolean {
    const last = counted.get(key);
    return last === undefined || Math.abs(now() - last.at) >= (last.usage === undefined ? tooLargeMs : maxAgeMs);
  }

  async function count(folders: ReadonlyMap<string, string>): Promise<void> {
    for (const key of counted.keys()) if (!folders.has(key)) counted.delete(key);
    // The oldest first, so that a round that is cut short does not always leave out the same.
    const due = [...folders.keys()].filter(isDue).sort((a, b) => (counted.get(a)?.at ?? 0) - (counted.get(b)?.at ?? 0));
    let left = mostInRound;
    for (const key of due) {
      if (left <= 0) return;
      const share = Math.min(left, most);
      const walk = new FolderWalk(folders.get(key)!, share);
      while (walk.step(entriesAtOnce)) await new Promise((resolve) => setImmediate(resolve));
      left -= walk.entries;
      const usage = walk.result();
      // The round has ended within this one, which says nothing about its size: the next round begins with it.
      if (usage === undefined && share < most && left <= 0) return;
      counted.set(key, { at: now(), usage });
    }
  }

  return {
    async refresh(folders) {
      round ??= count(folders).finally(() => {
        round = undefined;
      });
      await round;
    },
    get: (key) => counted.get(key)?.usage,
  };
}

/** Walks through a folder piece by piece. Links are not followed; a file with several names counts once. */
class FolderWalk {
  entries = 0;
  #bytes = 0;
  readonly #most: number;
  readonly #folders: string[];
  #pending: string[] = [];
  readonly #linked = new Set<number>();
  #gone = false;

  constructor(folder: string, most: number) {
    this.#folders = [folder];
    this.#most = most;
  }

  /** False when there is nothing left to do. */
  step(entries: number): boolean {
    for (let left = entries; left > 0; left--) {
      if (this.entries >= this.#most) return false;
      const path = this.#pending.pop();
      if (path !== undefined) this.#add(path);
      else if (!this.#openNext()) return false;
    }
    return true;
  }

  /** Undefined when it was too large to be counted, or is not there. */
  result(): DiskUsage | undefined {
    const done = this.#pending.length === 0 && this.#folders.length === 0;
    return done && !this.#gone ? { bytes: this.#bytes, files: this.entries } : undefined;
  }

  #openNext(): boolean {
    const folder = this.#folders.pop();
    if (folder === undefined) return false;
    let found: Dirent[];
    try {
      found = entriesOf(folder, this.#most - this.entries);
    } catch {
      // The first one is the container's; what vanishes below it is just no more.
      this.#gone = this.entries === 0;
      return !this.#gone;
    }
    if (this.entries + found.length > this.#most) {
      this.entries = this.#most;
      this.#pending.push(folder);
      return true;
    }
    for (const entry of found) {
      const path = join(folder, entry.name);
      this.#pending.push(path);
      if (entry.isDirectory()) this.#folders.push(path);
    }
    return true;
  }

  #add(path: string): void {
    this.entries++;
    try {
      const { blocks, nlink, ino } = lstatSync(path);
      if (nlink > 1 && this.#linked.has(ino)) return;
      if (nlink > 1) this.#linked.add(ino);
      this.#bytes += blocks * blockBytes;
    } catch {
      // Gone meanwhile: it takes up nothing.
    }
  }
}

/** Up to one more than `most`. */
function entriesOf(folder: string, most: number): Dirent[] {
  const found: Dirent[] = [];
  const reading = opendirSync(folder);
  try {
    for (let entry = reading.readSync(); entry !== null && found.length <= most; entry = reading.readSync()) found.push(entry);
  } finally {
    reading.closeSync();
  }
  return found;
}

/** A log and the pieces of it that were rotated; undefined when it cannot be read. */
export function logUsage(path: string): DiskUsage | undefined {
  const folder = dirname(path);
  const name = basename(path);
  try {
    const pieces = readdirSync(folder).filter((each) => each.startsWith(name));
    const sizes = pieces.map((piece) => lstatSync(join(folder, piece)).blocks * blockBytes);
    return { bytes: sizes.reduce((sum, size) => sum + size, 0), files: pieces.length };
  } catch {
    return undefined;
  }
}
