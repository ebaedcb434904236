import { closeSync, constants, type Dir, type Dirent, lstatSync, opendirSync, openSync, type Stats } from 'node:fs';
import { join } from 'node:path';

/** Folders that wait to be read. More cannot be measured. */
const mostFolders = 200_000;
/** The most hard-linked files that are counted once; beyond that each of their names counts. */
const mostLinked = 50_000;
/** The kernel takes paths of 4,096 bytes, a name has 255 at most: a longer path goes on from an open folder. */
const longestPath = 3_072;
/** Folders that are open for those below them. A tree that needs more cannot be measured. */
const mostAnchors = 64;
const blockBytes = 512;

/** An open folder that paths begin from, for as long as something below it waits. */
interface Anchor {
  readonly fd: number;
  uses: number;
}

/** Where something is: from the anchor, or from the root of the file system. */
interface Place {
  readonly anchor: Anchor | undefined;
  readonly path: string;
}

/**
 * Measures what a folder takes on its disk, piece by piece, so that a large one blocks nothing. Links are not followed,
 * what is mounted inside does not count, a file with several names counts once. Reads names and sizes only; whatever
 * vanishes meanwhile is no more.
 */
export class TreeMeter {
  /** What was found so far. */
  bytes = 0;
  /** Whether something could not be looked at: too many folders wait, or they are nested too deep. */
  isPartial = false;
  #folders: Place[];
  #open: { readonly dir: Dir; readonly place: Place } | undefined;
  #anchors = 0;
  #hasBegun = false;
  #device: number | undefined;
  readonly #linked = new Set<number>();

  constructor(root: string) {
    this.#folders = [{ anchor: undefined, path: root }];
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
    this.#closeOpen();
    for (const { anchor } of this.#folders.splice(0)) this.#release(anchor);
  }

  #openNext(): void {
    const place = this.#folders.pop()!;
    const stats = statOrNothing(pathOf(place));
    this.#device ??= stats?.dev;
    if (!stats?.isDirectory() || stats.dev !== this.#device) {
      this.#release(place.anchor);
      return;
    }
    if (this.#hasBegun) this.bytes += stats.blocks * blockBytes;
    this.#hasBegun = true;
    try {
      const from = this.#anchored(place);
      if (from !== undefined) this.#open = { dir: opendirSync(pathOf(from)), place: from };
    } catch {
      // Gone, or not to be read: what cannot be seen is not counted.
      this.#release(place.anchor);
    }
  }

  /** The same folder with a path that those below it can go on from. Undefined: there is none. */
  #anchored(place: Place): Place | undefined {
    if (Buffer.byteLength(place.path) <= longestPath) return place;
    if (this.#anchors >= mostAnchors) {
      this.isPartial = true;
      this.#release(place.anchor);
      return undefined;
    }
    const fd = openSync(pathOf(place), constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    this.#anchors++;
    this.#release(place.anchor);
    return { anchor: { fd, uses: 1 }, path: '.' };
  }

  #readNext({ dir, place }: { readonly dir: Dir; readonly place: Place }): void {
    const entry = nextOf(dir);
    if (entry === null) {
      this.#closeOpen();
      return;
    }
    const inner = { anchor: place.anchor, path: join(place.path, entry.name) };
    if (entry.isDirectory()) {
      if (this.#folders.length >= mostFolders) this.isPartial = true;
      else this.#folders.push(this.#use(inner));
      return;
    }
    const stats = statOrNothing(pathOf(inner));
    if (stats !== undefined && this.#isNew(stats)) this.bytes += stats.blocks * blockBytes;
  }

  #closeOpen(): void {
    this.#open?.dir.closeSync();
    this.#release(this.#open?.place.anchor);
    this.#open = undefined;
  }

  #use(place: Place): Place {
    if (place.anchor) place.anchor.uses++;
    return place;
  }

  #release(anchor: Anchor | undefined): void {
    if (anchor === undefined || --anchor.uses > 0) return;
    closeSync(anchor.fd);
    this.#anchors--;
  }

  #isNew({ dev, ino, nlink }: Stats): boolean {
    if (dev !== this.#device) return false;
    if (nlink < 2) return true;
    if (this.#linked.has(ino)) return false;
    if (this.#linked.size < mostLinked) this.#linked.add(ino);
    return true;
  }
}

function pathOf({ anchor, path }: Place): string {
  return anchor === undefined ? path : `/proc/self/fd/${anchor.fd}/${path}`;
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
