import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { restoreAdvice, StorageError } from '../storage-error.ts';
import {
  childOf,
  dataOf,
  keyOf,
  type MetaPage,
  nodeFlags,
  nodeOffsets,
  pageFlags,
  pageHeaderSize,
  parseMeta,
  parseTree,
  readNumber,
  type Tree,
  treeSize,
} from './page-layout.ts';

/** What the pages of a sound file are used for. */
export interface PageReport {
  readonly pages: number;
  readonly used: number;
  /**
   * False: the list of free pages is wrong. Everything can be read, but the next write would destroy something: copy
   * the file first.
   */
  readonly canWrite: boolean;
}

/**
 * Walks the pages of an lmdb file by itself, without the library, which may die of a damaged one: both meta pages are
 * there, every tree is whole and in order, every entry is found by a search, no page is used twice, and none is listed
 * as free while it is in use. Damage inside the stored bytes is not checked here: those have checksums. Throws
 * `corrupt`.
 */
export function checkPages(path: string): PageReport {
  const file = openSync(path, 'r');
  try {
    return new PageWalk(new PageFile(file, fstatSync(file).size)).walk();
  } finally {
    closeSync(file);
  }
}

/** The file, read by page. */
class PageFile {
  readonly meta: MetaPage;
  readonly #file: number;
  readonly #size: number;

  constructor(file: number, size: number) {
    this.#file = file;
    this.#size = size;
    const first = parseMeta(this.#read(0, smallestFile / 2));
    const second = first && parseMeta(this.#read(first.pageSize, smallestFile / 2));
    // Transactions write the two meta pages in turn: if their numbers are not consecutive, one is damaged and its
    // transaction is lost.
    if (!first || !second || !areNeighbours(first, second)) throw damaged('a page that says where everything begins is damaged');
    this.meta = first.transaction > second.transaction ? first : second;
    // The last pages may never have been written, if their transaction gave them back.
    if (this.meta.lastPage > 2 * (size / first.pageSize) + spare) throw damaged(`it should have ${this.meta.lastPage} pages`);
  }

  page(number: number, count = 1): Buffer {
    const { lastPage, pageSize } = this.meta;
    if (number < 2 || number + count - 1 > lastPage) throw damaged(`something points to page ${number}, of ${lastPage}`);
    return this.#read(number * pageSize, count * pageSize);
  }

  /** Whether the file reaches so far. */
  holds(page: number): boolean {
    return (page + 1) * this.meta.pageSize <= this.#size;
  }

  #read(at: number, size: number): Buffer {
    if (at + size > this.#size) throw damaged(`it ends at ${this.#size} bytes, in the middle of what it holds`);
    const bytes = Buffer.allocUnsafe(size);
    if (readSync(this.#file, bytes, 0, size, at) !== size) throw damaged('it has become shorter');
    return bytes;
  }
}

const smallestFile = 1024;
/** Pages. */
const spare = 65_536;

function areNeighbours(even: MetaPage, odd: MetaPage): boolean {
  const isFresh = even.transaction === 0 && odd.transaction === 0;
  const isInTurn = even.transaction % 2 === 0 && odd.transaction % 2 === 1;
  return even.pageSize === odd.pageSize && (isFresh || (isInTurn && Math.abs(even.transaction - odd.transaction) === 1));
}

type KeyOrder = (a: Buffer, b: Buffer) => number;
const byBytes: KeyOrder = (a, b) => a.compare(b);
/** The keys of the tree of free pages are transactions, little-endian. */
const byNumber: KeyOrder = (a, b) => Number(a.readBigUInt64LE(0) - b.readBigUInt64LE(0));

interface TreeWalk {
  /** What it is called in messages. */
  readonly name: string;
  readonly depth: number;
  readonly order: KeyOrder;
  readonly visit: (key: Buffer, flags: number, data: () => Buffer) => void;
}

/** Where a walk is: every key below lies between these, and no page is younger than the one above it. */
interface Place {
  readonly page: number;
  readonly level: number;
  readonly from: Buffer | undefined;
  readonly to: Buffer | undefined;
  readonly transaction: number;
}

const unmarked = 0;
const inUse = 1;
const listed = 2;

class PageWalk {
  readonly #file: PageFile;
  readonly #marks: Uint8Array;

  constructor(file: PageFile) {
    this.#file = file;
    this.#marks = new Uint8Array(file.meta.lastPage + 1).fill(inUse, 0, 2);
  }

  walk(): PageReport {
    const { main, free } = this.#file.meta;
    const tables: { name: string; tree: Tree }[] = [];
    this.#walkTree('the list of tables', main, byBytes, (key, flags, data) => {
      if (flags !== nodeFlags.tree || data().length !== treeSize) throw damaged('the list of tables has an entry that is none');
      tables.push({ name: `table ${key.toString('latin1')}`, tree: parseTree(data(), 0) });
    });
    for (const { name, tree } of tables)
      this.#walkTree(name, tree, byBytes, (_, flags) => {
        if (flags === nodeFlags.tree) throw damaged(`${name} has a table inside`);
      });
    const used = this.#marks.reduce((sum, mark) => sum + (mark === inUse ? 1 : 0), 0);
    return { pages: this.#marks.length, used, canWrite: this.#isFreeListSound(free) };
  }

  #isFreeListSound(free: Tree): boolean {
    try {
      this.#walkTree('the list of free pages', free, byNumber, (_, __, data) => this.#markFree(data()));
      return true;
    } catch (error) {
      if (error instanceof StorageError) return false;
      throw error;
    }
  }

  /**
   * A list is its length, then pages; 0 is a gap, and a negative number says how many pages begin at the one behind it.
   */
  #markFree(list: Buffer): void {
    if (list.length < 8) throw damaged('the list of free pages has an entry that is none');
    const end = Math.min(list.length, 8 * (1 + readNumber(list, 0)));
    let count = 1;
    for (let at = 8; at < end; at += 8) {
      const entry = Number(list.readBigInt64LE(at));
      if (entry > 0) this.#mark(entry, count, listed);
      count = entry < 0 ? -entry : 1;
    }
  }

  #mark(first: number, count: number, mark: number): void {
    if (first < 2 || first + count > this.#marks.length)
      throw damaged(`something points to page ${first} of ${this.#marks.length}`);
    for (let page = first; page < first + count; page++) {
      if (this.#marks[page] !== unmarked) throw damaged(`page ${page} is used twice`);
      this.#marks[page] = mark;
    }
  }

  #walkTree(name: string, { root, depth }: Tree, order: KeyOrder, visit: TreeWalk['visit']): void {
    if (root === undefined) return;
    const { transaction } = this.#file.meta;
    this.#walkPage({ name, depth, order, visit }, { page: root, level: 1, from: undefined, to: undefined, transaction });
  }

  #walkPage(walk: TreeWalk, place: Place): void {
    this.#mark(place.page, 1, inUse);
    const page = this.#file.page(place.page);
    const transaction = readNumber(page, 8);
    const flags = place.level === walk.depth ? pageFlags.leaf : pageFlags.branch;
    const nodes = nodeOffsets(page);
    if (readNumber(page, 0) !== place.page || page.readUInt16LE(18) !== flags || transaction > place.transaction || !nodes)
      throw damaged(`page ${place.page} of ${walk.name} is no page of it`);
    if (flags === pageFlags.branch) this.#walkBranch(walk, { ...place, transaction }, page, nodes);
    else this.#walkLeaf(walk, { ...place, transaction }, page, nodes);
  }

  /** The first child of a branch has everything below the second one's key; its own key means nothing. */
  #walkBranch(walk: TreeWalk, place: Place, page: Buffer, nodes: readonly number[]): void {
    const keys = nodes.map((node, index) => (index === 0 ? place.from : this.#key(walk, page, node)));
    nodes.forEach((node, index) => {
      const [from, to] = [keys[index], keys[index + 1] ?? place.to];
      if (from && to && walk.order(from, to) >= 0) throw damaged(`page ${place.page} of ${walk.name} is out of order`);
      this.#walkPage(walk, { page: childOf(page, node), level: place.level + 1, from, to, transaction: place.transaction });
    });
  }

  #walkLeaf(walk: TreeWalk, { page: number, from, to, transaction }: Place, page: Buffer, nodes: readonly number[]): void {
    let last: Buffer | undefined;
    for (const node of nodes) {
      const key = this.#key(walk, page, node);
      const isAscending = last ? walk.order(last, key) < 0 : !from || walk.order(from, key) <= 0;
      if (!isAscending || (to && walk.order(key, to) >= 0)) throw damaged(`page ${number} of ${walk.name} is out of order`);
      last = key;
      const found = dataOf(page, node);
      if (!found || (found.flags !== nodeFlags.none && found.flags !== nodeFlags.tree && found.flags !== nodeFlags.overflow))
        throw damaged(`page ${number} of ${walk.name} has an entry that is none`);
      const pages = found.flags === nodeFlags.overflow ? this.#markOverflow(found.bytes, found.size, transaction) : undefined;
      walk.visit(key, found.flags, () => (pages ? this.#readOverflow(pages, found.size) : found.bytes));
    }
  }

  #key(walk: TreeWalk, page: Buffer, node: number): Buffer {
    const key = keyOf(page, node);
    if (!key || key.length === 0 || (walk.order === byNumber && key.length !== 8))
      throw damaged(`${walk.name} has a key that is none`);
    return key;
  }

  #markOverflow(reference: Buffer, size: number, transaction: number): { first: number; count: number } {
    const { pageSize } = this.#file.meta;
    const first = readNumber(reference, 0);
    const count = Math.floor((pageHeaderSize - 1 + size) / pageSize) + 1;
    this.#mark(first, count, inUse);
    const header = this.#file.page(first);
    const isSound =
      this.#file.holds(first + count - 1) &&
      readNumber(header, 0) === first &&
      header.readUInt16LE(18) === pageFlags.overflow &&
      header.readUInt32LE(20) === count &&
      readNumber(reference, 16) === count &&
      readNumber(header, 8) <= transaction;
    if (!isSound) throw damaged(`page ${first} is not the beginning of what is stored there`);
    return { first, count };
  }

  #readOverflow({ first, count }: { first: number; count: number }, size: number): Buffer {
    return this.#file.page(first, count).subarray(pageHeaderSize, pageHeaderSize + size);
  }
}

function damaged(what: string): StorageError {
  return new StorageError('corrupt', `the file is damaged: ${what}; ${restoreAdvice}`);
}
