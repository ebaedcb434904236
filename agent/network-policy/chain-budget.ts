import type { GroupChain } from './compile-group.ts';

/** What chains and sets of peers may have in all: rules, blocks, ports, and addresses of peers. */
export interface BudgetBounds {
  /** What pods of one namespace use. nft takes about 4 s for so many rules. */
  readonly namespace: number;
  /** All of the node: a tenant may have many namespaces. */
  readonly node: number;
  /** What a namespace uses up to here has room whatever others use. */
  readonly always: number;
}

const policyBounds: BudgetBounds = { namespace: 50_000, node: 200_000, always: 1_000 };

interface Account {
  pieces: number;
  /** How many pods use each chain. */
  readonly chains: Map<string, number>;
  /** How many of those chains name each set. */
  readonly sets: Map<string, number>;
}

/**
 * Counts what the pods of each namespace take of the table. A chain or set counts once for a namespace, and once for
 * the node, however many share it.
 */
export class ChainBudget {
  readonly #bounds: BudgetBounds;
  readonly #accounts = new Map<string, Account>();
  /** Of the node: how many namespaces use each chain. */
  readonly #chains = new Map<string, number>();
  /** Elements of each set, as they were told. */
  readonly #sizes = new Map<string, number>();
  #pieces = 0;

  constructor(bounds: BudgetBounds = policyBounds) {
    this.#bounds = bounds;
  }

  /** All that is in use on the node. */
  get pieces(): number {
    return this.#pieces;
  }

  /** False: there is no room for it. */
  use(namespace: string, chain: GroupChain): boolean {
    const account = this.#accounts.get(namespace) ?? { pieces: 0, chains: new Map(), sets: new Map() };
    const users = account.chains.get(chain.name) ?? 0;
    this.#accounts.set(namespace, account);
    account.chains.set(chain.name, users + 1);
    if (users > 0) return true;
    account.pieces += chain.pieces;
    for (const { name } of chain.sets) {
      if (count(account.sets, name, 1) === 1) account.pieces += this.#sizes.get(name) ?? 0;
    }
    if (count(this.#chains, chain.name, 1) === 1) this.#pieces += chain.pieces;
    if (this.hasRoom(namespace)) return true;
    this.leave(namespace, chain);
    return false;
  }

  /** True: there is more room now. */
  leave(namespace: string, chain: GroupChain): boolean {
    const account = this.#accounts.get(namespace)!;
    if (count(account.chains, chain.name, -1) > 0) return false;
    account.pieces -= chain.pieces;
    for (const { name } of chain.sets) {
      if (count(account.sets, name, -1) === 0) account.pieces -= this.#sizes.get(name) ?? 0;
    }
    if (count(this.#chains, chain.name, -1) === 0) this.#pieces -= chain.pieces;
    if (account.chains.size === 0) this.#accounts.delete(namespace);
    return true;
  }

  hasRoom(namespace: string): boolean {
    const { pieces = 0 } = this.#accounts.get(namespace) ?? {};
    return pieces <= this.#bounds.namespace && (this.#pieces <= this.#bounds.node || pieces <= this.#bounds.always);
  }

  /** A set has gained elements, or lost some. */
  grow(set: string, by: number): void {
    count(this.#sizes, set, by);
    this.#pieces += by;
    for (const account of this.#accounts.values()) if (account.sets.has(set)) account.pieces += by;
  }

  /** Whether all namespaces that use a set have room. */
  hasRoomFor(set: string): boolean {
    for (const [namespace, account] of this.#accounts) if (account.sets.has(set) && !this.hasRoom(namespace)) return false;
    return true;
  }

  /** A set is gone with its elements; nothing uses it. */
  drop(set: string): void {
    this.#pieces -= this.#sizes.get(set) ?? 0;
    this.#sizes.delete(set);
  }
}

/** Returns the new number. One of 0 is forgotten. */
function count(of: Map<string, number>, key: string, by: number): number {
  const number = (of.get(key) ?? 0) + by;
  if (number === 0) of.delete(key);
  else of.set(key, number);
  return number;
}
