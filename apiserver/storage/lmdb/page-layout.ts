/*
 * The pages of an lmdb file (data version 2, 64 bits, little-endian), as far as a check needs them; the library's mdb.c
 * is the source of the numbers. Every read stays within the page, so that nothing in a damaged file can do harm.
 *   page   0 u64 number   8 u64 transaction   18 u16 flags   20 u16 lower   22 u16 upper (overflow: 20 u32 pages)
 *          24 content
 *   meta   24 u32 magic   28 u32 version   48 tree "free"   96 tree "main"   144 u64 last page   152 u64 transaction
 *   tree   0 u32 page size (of "free" only)   6 u16 depth   40 u64 root
 *   node   0 u32 size of the data   4 u16 flags   6 u16 size of the key   8 key, data
 *          (in a branch: 0 u48 page of the child)
 */
export const pageHeaderSize = 24;
export const nodeHeaderSize = 8;
export const treeSize = 48;
/** What stands in a leaf for data that has pages of its own: u64 first page, u64 transaction, u64 how many. */
export const overflowReferenceSize = 24;
export const pageFlags = { branch: 0x01, leaf: 0x02, overflow: 0x04, meta: 0x08 } as const;
export const nodeFlags = { none: 0, overflow: 0x01, tree: 0x02 } as const;

const magic = 0xbeefc0de;
const dataVersion = 2;
/** As the root of an empty tree. */
const noPage = 0xffff_ffff_ffff_ffffn;
const smallestPage = 512;
const largestPage = 65_536;

/** A table as its parent describes it. */
export interface Tree {
  readonly depth: number;
  /** Undefined: it is empty. */
  readonly root: number | undefined;
}

/** One of the two pages that say where everything begins; transactions write them in turn. */
export interface MetaPage {
  readonly pageSize: number;
  readonly free: Tree;
  readonly main: Tree;
  readonly lastPage: number;
  readonly transaction: number;
}

/** Undefined: it is no meta page of this version. */
export function parseMeta(page: Buffer): MetaPage | undefined {
  if (page.readUInt16LE(18) !== pageFlags.meta || page.readUInt32LE(24) !== magic) return undefined;
  if ((page.readUInt32LE(28) & 0xffff) !== dataVersion) return undefined;
  const pageSize = page.readUInt32LE(48);
  if (pageSize < smallestPage || pageSize > largestPage || (pageSize & (pageSize - 1)) !== 0) return undefined;
  return {
    pageSize,
    free: parseTree(page, 48),
    main: parseTree(page, 48 + treeSize),
    lastPage: readNumber(page, 144),
    transaction: readNumber(page, 152),
  };
}

export function parseTree(bytes: Buffer, at: number): Tree {
  const root = bytes.readBigUInt64LE(at + 40);
  return { depth: bytes.readUInt16LE(at + 6), root: root === noPage ? undefined : Number(root) };
}

/** Where the nodes of a page stand; undefined when its bounds are impossible. */
export function nodeOffsets(page: Buffer): number[] | undefined {
  const lower = page.readUInt16LE(20);
  const upper = page.readUInt16LE(22);
  if (lower > upper || upper > page.length - pageHeaderSize || lower % 2 !== 0) return undefined;
  const offsets: number[] = [];
  for (let at = pageHeaderSize; at < pageHeaderSize + lower; at += 2) {
    const offset = page.readUInt16LE(at) + pageHeaderSize;
    if (offset < pageHeaderSize + upper || offset + nodeHeaderSize > page.length) return undefined;
    offsets.push(offset);
  }
  return offsets;
}

/** The page below a node of a branch. */
export function childOf(page: Buffer, node: number): number {
  return page.readUIntLE(node, 6);
}

/** Undefined: it reaches beyond the page. */
export function keyOf(page: Buffer, node: number): Buffer | undefined {
  const end = node + nodeHeaderSize + page.readUInt16LE(node + 6);
  return end <= page.length ? page.subarray(node + nodeHeaderSize, end) : undefined;
}

/** What follows the key of a leaf's node: the data, or where they are. Undefined: it reaches beyond the page. */
export function dataOf(page: Buffer, node: number): { flags: number; size: number; bytes: Buffer } | undefined {
  const flags = page.readUInt16LE(node + 4);
  const size = page.readUInt32LE(node);
  const begin = node + nodeHeaderSize + page.readUInt16LE(node + 6);
  const end = begin + (flags === nodeFlags.overflow ? overflowReferenceSize : size);
  return end <= page.length ? { flags, size, bytes: page.subarray(begin, end) } : undefined;
}

export function readNumber(bytes: Buffer, at: number): number {
  return Number(bytes.readBigUInt64LE(at));
}
