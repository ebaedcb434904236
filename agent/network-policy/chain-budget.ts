import type { GroupChain } from './compile-group.ts';

/**
 * What the chains that pods of a namespace use may have in all. So many take nft about 4 s; a namespace with more must
 * not keep the policies of all others from coming into force.
 */
const mostOfNamespace = 50_000;

interface Account {
  pieces: number;
  /** How many pods use each. */
  readonly users: Map<string, number>;
}

/** Counts what the chains of each namespace take of the table. A chain counts once, however many pods share it. */
export class ChainBudget {
  readonly #accounts = new Map<string, Account>();

  /** False: there is no room for it. */
  use(namespace: string, { name, pieces }: GroupChain): boolean {
    const account = this.#accounts.get(namespace) ?? { pieces: 0, users: new Map() };
    const users = account.users.get(name) ?? 0;
    if (users === 0 && account.pieces + pieces > mostOfNamespace) return false;
    if (users === 0) account.pieces += pieces;
    account.users.set(name, users + 1);
    this.#accounts.set(namespace, account);
    return true;
  }

  /** True: there is more room now. */
  leave(namespace: string, { name, pieces }: GroupChain): boolean {
    const account = this.#accounts.get(namespace)!;
    const users = account.users.get(name)! - 1;
    if (users > 0) {
      account.users.set(name, users);
      return false;
    }
    account.pieces -= pieces;
    account.users.delete(name);
    if (account.users.size === 0) this.#accounts.delete(namespace);
    return true;
  }
}
