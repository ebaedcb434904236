import type { Node } from '../../../api/generated/types.ts';
import { lengthened } from './domain-counts.ts';

/** A topology key that every node has, with a value of its own: the node itself. No label can be called so. */
export const nodeItself = '\0node';

/** How one label parts the nodes: nodes with equal values of it are one domain. */
export interface Domains {
  readonly key: string;
  /**
   * The domain of the node in each row; -1 where the node does not have the label.
   * Another array once there are more nodes.
   */
  readonly ids: Int32Array;
  /** All domains are numbered below this; numbers of domains that are gone are given again. */
  readonly size: number;
  /** How many nodes each domain has. */
  readonly nodesIn: Int32Array;
  valueOf(domain: number): string;
}

export interface LiveDomains extends Domains {
  /** The node is in `row` now. */
  enter(row: number, node: Node): void;
  leave(row: number): void;
  /** The row is taken by the last one. */
  move(row: number, last: number): void;
}

export function createDomains(key: string): LiveDomains {
  const numbers = new Map<string, number>();
  const values: string[] = [];
  const free: number[] = [];
  let ids = new Int32Array(0);
  let nodesIn = new Int32Array(16);

  function numberOf(value: string): number {
    const known = numbers.get(value);
    if (known !== undefined) return known;
    const number = free.pop() ?? values.length;
    numbers.set(value, number);
    values[number] = value;
    if (number >= nodesIn.length) nodesIn = lengthened(nodesIn, number + 1);
    return number;
  }

  return {
    key,
    get ids() {
      return ids;
    },
    get size() {
      return values.length;
    },
    get nodesIn() {
      return nodesIn;
    },
    valueOf: (domain) => values[domain] ?? '',
    enter(row, node) {
      if (row >= ids.length) {
        const before = ids.length;
        ids = lengthened(ids, row + 1).fill(-1, before);
      }
      const value = topologyValue(node, key);
      if (value === undefined) return;
      const domain = numberOf(value);
      nodesIn[domain]! += 1;
      ids[row] = domain;
    },
    leave(row) {
      const domain = ids[row]!;
      if (domain < 0) return;
      ids[row] = -1;
      nodesIn[domain]! -= 1;
      if (nodesIn[domain]! > 0) return;
      numbers.delete(values[domain]!);
      free.push(domain);
    },
    move(row, last) {
      ids[row] = ids[last]!;
      ids[last] = -1;
    },
  };
}

/** The domains of each key that is in use, kept up row by row. */
export interface DomainColumns {
  acquire(key: string, user: string): LiveDomains;
  release(key: string, user: string): void;
  enter(row: number): void;
  leave(row: number): void;
  move(row: number, last: number): void;
  /** How many rows there are. */
  readonly rows: number;
}

/** `nodes`: those in the rows, kept by the caller. */
export function createDomainColumns(nodes: readonly Node[]): DomainColumns {
  const columns = new Map<string, { readonly domains: LiveDomains; readonly users: Set<string> }>();

  function create(key: string) {
    const created = { domains: createDomains(key), users: new Set<string>() };
    for (const [row, node] of nodes.entries()) created.domains.enter(row, node);
    columns.set(key, created);
    return created;
  }

  return {
    acquire(key, user) {
      const column = columns.get(key) ?? create(key);
      column.users.add(user);
      return column.domains;
    },
    release(key, user) {
      const column = columns.get(key);
      column?.users.delete(user);
      if (column?.users.size === 0) columns.delete(key);
    },
    enter(row) {
      for (const { domains } of columns.values()) domains.enter(row, nodes[row]!);
    },
    leave(row) {
      for (const { domains } of columns.values()) domains.leave(row);
    },
    move(row, last) {
      for (const { domains } of columns.values()) domains.move(row, last);
    },
    get rows() {
      return nodes.length;
    },
  };
}

/** The node's value of a topology key. */
export function topologyValue(node: Node, key: string): string | undefined {
  if (key === nodeItself) return node.metadata?.name ?? '';
  const labels = node.metadata?.labels;
  return labels && Object.hasOwn(labels, key) ? labels[key] : undefined;
}
