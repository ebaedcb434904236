import type { Node } from '../../../api/generated/types.ts';

/** Some of the nodes, by what their labels and taints say. */
export interface NodeChoice {
  /** Choices with equal keys choose the same nodes. */
  readonly key: string;
  chooses(node: Node): boolean;
}

export interface NodeSet {
  /** 1 in the rows of the nodes that are chosen. */
  readonly rows: Uint8Array;
}

/** The nodes of each choice that is in use, kept up row by row. */
export interface NodeSets {
  acquire(choice: NodeChoice, user: string): NodeSet;
  release(choice: NodeChoice, user: string): void;
  enter(row: number): void;
  /** The row is taken by the last one. */
  move(row: number, last: number): void;
}

interface LiveSet {
  readonly choice: NodeChoice;
  readonly users: Set<string>;
  rows: Uint8Array;
}

/** `nodes`: those in the rows, kept by the caller. */
export function createNodeSets(nodes: readonly Node[]): NodeSets {
  const sets = new Map<string, LiveSet>();

  function create(choice: NodeChoice): LiveSet {
    const created: LiveSet = { choice, users: new Set(), rows: Uint8Array.from(nodes, (node) => Number(choice.chooses(node))) };
    sets.set(choice.key, created);
    return created;
  }

  return {
    acquire(choice, user) {
      const set = sets.get(choice.key) ?? create(choice);
      set.users.add(user);
      return set;
    },
    release({ key }, user) {
      const set = sets.get(key);
      set?.users.delete(user);
      if (set?.users.size === 0) sets.delete(key);
    },
    enter(row) {
      for (const set of sets.values()) {
        if (row >= set.rows.length) set.rows = grown(set.rows, row + 1);
        set.rows[row] = Number(set.choice.chooses(nodes[row]!));
      }
    },
    move(row, last) {
      for (const { rows } of sets.values()) {
        rows[row] = rows[last]!;
        rows[last] = 0;
      }
    },
  };
}

function grown(from: Uint8Array, size: number): Uint8Array {
  const to = new Uint8Array(Math.max(size, from.length * 2));
  to.set(from);
  return to;
}
