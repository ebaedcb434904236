import { type Dir, type Dirent, lstatSync, opendirSync, type Stats } from 'node:fs';
import { join } from 'node:path';

/** Folders that wait to be read: more are left out of the measure, which then is too small; each of them takes a block itself, which counts. */
const mostFolders = 50_000;
/** Files with several names whose names are told apart; beyond that each name counts. */
const mostLinked = 50_000;
const blockBytes = 512;

/**
 * Measures what a folder takes on its disk, piece by piece, so that a large one blocks nothing. Links are not followed, what is mounted
 * inside does not count, a file with several names counts once. Reads names and sizes only; whatever vanishes meanwhile is no more.
 */
export class TreeMeter {
  /** What was found so far. */
  bytes = 0;
  #root: string;
  #folders: string[];
  #open: { readonly dir: Dir; readonly path: string } | undefined;
  #device: number | undefined;
  readonly #linked = new Set<number>();

  constructor(root: string) {
    this.#root = root;
    this.#folders = [root];
  }

  /** Whether all of it was measured. */
  get isDone(): boolean {
    return this.#open === undefined && this.#folders.length === 0;
  }

  /** Looks at so many entries at most; gives how many it were. */
  step(most: number): number {
    let looked = 0;
    while (looked < most && !this.isDone) {
      looked++;
      if (this.#open === undefined) this.#openNext();
      else this.#readNext(this.#open);
    }
    return looked;
  }

  close(): void {
    this.#open?.dir.closeSync();
    this.#open = undefined;
    this.#folders = [];
  }

  #openNext(): void {
    const path = this.#folders.pop()!;
    const stats = statOrNothing(path);
    if (stats === undefined || !stats.isDirectory()) return;
    this.#device ??= stats.dev;
    if (stats.dev !== this.#device) return;
    if (path !== this.#root) this.bytes += stats.blocks * blockBytes;
    try {
      this.#open = { dir: opendirSync(path), path };
    } catch {
      // Gone, or not to be read: what cannot be seen is not counted.
    }
  }

  #readNext({ dir, path }: { readonly dir: Dir; readonly path: string }): void {
    const entry = nextOf(dir);
    if (entry === null) {
      dir.closeSync();
      this.#open = undefined;
      return;
    }
    const inner = join(path, entry.name);
    if (entry.isDirectory()) {
      if (this.#folders.length < mostFolders) this.#folders.push(inner);
      return;
    }
    const stats = statOrNothing(inner);
    if (stats !== undefined && this.#isNew(stats)) this.bytes += stats.blocks * blockBytes;
  }

  #isNew({ dev, ino, nlink }: Stats): boolean {
    if (dev !== this.#device) return false;
    if (nlink < 2) return true;
    if (this.#linked.has(ino)) return false;
    if (this.#linked.size < mostLinked) this.#linked.add(ino);
    return true;
  }
}

/** Null at the end, and of a folder that cannot be read to its end. */
function nextOf(dir: Dir): Dirent | null {
  try {
    return dir.readSync();
  } catch {
    return null;
  }
}

function statOrNothing(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}
