import type { ContainerImage, Node } from '../../api/generated/types.ts';
import { imageName } from '../framework/image-name.ts';

/**
 * The images of one node: bytes by name, as `imageName` has it.
 * The same value as long as the node's list stays the same.
 */
export type Images = ReadonlyMap<string, number>;

/** One image on all nodes. */
export interface ImageColumn {
  /** Bytes in each row, 0 where the image is not. */
  readonly sizes: Float64Array;
  /** How many nodes have it. */
  readonly nodes: number;
}

/**
 * Columns of the images that pods asked for lately. A cluster knows far more names than its pods use at a time, so a
 * column is made when it is first asked for (one look at every node) and kept up row by row while it stays in use.
 */
export interface ImageColumns {
  get(name: string, capacity: number): ImageColumn | undefined;
  write(row: number, images: Images): void;
  /** The row is taken by the last one. */
  remove(row: number, last: number): void;
  grow(grown: (from: Float64Array) => Float64Array): void;
}

/** 64 columns of 5,000 nodes are 2.5 MB; the one not asked for longest gives way. */
const mostColumns = 64;

interface LiveColumn {
  sizes: Float64Array;
  nodes: number;
}

export function createImageColumns(): ImageColumns {
  const rows: Images[] = [];
  /** In the order in which they were last asked for. */
  const columns = new Map<string, LiveColumn>();

  function create(name: string, capacity: number): LiveColumn {
    const column = { sizes: new Float64Array(capacity), nodes: 0 };
    for (const [row, images] of rows.entries()) set(column, row, images.get(name) ?? 0);
    const oldest = columns.size >= mostColumns ? columns.keys().next().value : undefined;
    if (oldest !== undefined) columns.delete(oldest);
    return column;
  }

  return {
    get(name, capacity) {
      const column = columns.get(name) ?? create(name, capacity);
      columns.delete(name);
      columns.set(name, column);
      return column.nodes > 0 ? column : undefined;
    },
    write(row, images) {
      if (rows[row] === images) return;
      rows[row] = images;
      for (const [name, column] of columns) set(column, row, images.get(name) ?? 0);
    },
    remove(row, last) {
      rows[row] = rows[last]!;
      rows.length = last;
      for (const column of columns.values()) {
        set(column, row, column.sizes[last]!);
        set(column, last, 0);
      }
    },
    grow(grown) {
      for (const column of columns.values()) column.sizes = grown(column.sizes);
    },
  };
}

function set(column: LiveColumn, row: number, size: number): void {
  column.nodes += Number(size > 0) - Number(column.sizes[row]! > 0);
  column.sizes[row] = size;
}

/**
 * The images of `node`; the `known` ones of its `previous` version where the list says the same,
 * for readings come far more often than images.
 */
export function imagesOf(node: Node, previous: Node | undefined, known: Images): Images {
  const images = node.status?.images ?? none;
  if (previous && isSame(images, previous.status?.images ?? none)) return known;
  const sizes = new Map<string, number>();
  for (const { names = [], sizeBytes = 0 } of images) for (const name of names) sizes.set(imageName(name), sizeBytes);
  return sizes;
}

const none: readonly ContainerImage[] = [];

function isSame(a: readonly ContainerImage[], b: readonly ContainerImage[]): boolean {
  return a === b || (a.length === b.length && a.every((image, i) => isSameImage(image, b[i]!)));
}

function isSameImage(a: ContainerImage, b: ContainerImage): boolean {
  const [names = [], others = []] = [a.names, b.names];
  return a.sizeBytes === b.sizeBytes && names.length === others.length && names.every((name, i) => name === others[i]);
}
