import type { Kind } from '../../../api/kinds/kind.ts';
import type { Amounts } from '../../../api/kinds/pod/resources.ts';
import { boundsKind, counted, excess, lackingMessage, type QuotaRules } from '../../../api/kinds/resource-quota/quota-rules.ts';
import { endedShare, type QuotaShare } from '../../../api/kinds/resource-quota/quota-share.ts';
import type { Demand } from './ledger.ts';

/** A quota, and how much of it is in use: never less than what is stored, whatever is on its way. */
interface Account {
  readonly rules: QuotaRules;
  readonly used: Amounts;
}

/** The shares of the versions of an object that may be stored soon. */
export type PendingShares = (key: string) => readonly QuotaShare[];

/**
 * The quotas of one namespace and what they are used by. A key holds one object, so it counts with the most of what the
 * watch cache shows of it and of what is on its way to the store: a write is counted once, before it shows and after.
 */
export class NamespaceQuotas {
  readonly #pending: PendingShares;
  readonly #shown = new Map<string, QuotaShare>();
  /** Keys of shown shares that end by time alone. */
  readonly #ending = new Set<string>();
  /** Whether objects of a kind are shown here; one that is stays so, whatever quotas go. */
  readonly #kinds = new Map<Kind, boolean>();
  /** In the order of their names, so that one refusal always reads the same. */
  #accounts: readonly Account[] = [];

  constructor(pending: PendingShares) {
    this.#pending = pending;
  }

  get isEmpty(): boolean {
    return this.#accounts.length === 0;
  }

  rulesOf(name: string): QuotaRules | undefined {
    return this.#accounts.find(({ rules }) => rules.name === name)?.rules;
  }

  /** How much of a quota is in use; undefined when there is none of the name. */
  usedOf(name: string): Readonly<Amounts> | undefined {
    return this.#accounts.find(({ rules }) => rules.name === name)?.used;
  }

  /** Whether objects of the kind count against any of the quotas, or did. */
  follows(kind: Kind): boolean {
    const known = this.#kinds.get(kind);
    if (known !== undefined) return known;
    const follows = this.#accounts.some(({ rules }) => boundsKind(rules, kind));
    this.#kinds.set(kind, follows);
    return follows;
  }

  /** Counts what is there against a new quota, or a new version of one. */
  setRules(rules: QuotaRules, keys: Iterable<string>): void {
    const account: Account = { rules, used: {} };
    for (const key of new Set([...this.#shown.keys(), ...keys])) add(account.used, this.#use(account, key), 1);
    const others = this.#accounts.filter((each) => each.rules.name !== rules.name);
    this.#accounts = [...others, account].sort((a, b) => (a.rules.name < b.rules.name ? -1 : 1));
    for (const [kind, follows] of this.#kinds) if (!follows) this.#kinds.delete(kind);
  }

  removeRules(name: string): void {
    this.#accounts = this.#accounts.filter(({ rules }) => rules.name !== name);
  }

  /** What the watch cache shows under a key from now on; undefined: nothing. */
  show(key: string, share: QuotaShare | undefined): void {
    this.recount(key, () => {
      if (share) this.#shown.set(key, share);
      else this.#shown.delete(key);
    });
    if (share?.until === undefined) this.#ending.delete(key);
    else this.#ending.add(key);
  }

  /** The keys that are shown. */
  keys(): Iterable<string> {
    return this.#shown.keys();
  }

  /** Counts a key anew around a change of what it counts by. */
  recount(key: string, change: () => void): void {
    for (const account of this.#accounts) add(account.used, this.#use(account, key), -1);
    change();
    for (const account of this.#accounts) add(account.used, this.#use(account, key), 1);
  }

  /** Why a new version of an object is refused; undefined when there is room. `lacks` are optional. */
  refusal(key: string, { share, lacks }: Pick<Demand, 'share'> & Partial<Demand>, now: number): string | undefined {
    for (const { rules } of this.#accounts) {
      const lacking = lacks && lackingMessage(rules, share, lacks);
      if (lacking) return lacking;
    }
    const found = this.#excess(key, share);
    return found !== undefined && this.#endByTime(now) ? this.#excess(key, share) : found;
  }

  #excess(key: string, share: QuotaShare): string | undefined {
    for (const account of this.#accounts) {
      const more = this.#use(account, key, share);
      add(more, this.#use(account, key), -1);
      const found = excess(account.rules, account.used, more);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Pods that are stuck on their way out stop counting; nothing happens then, so it is looked up when it matters. */
  #endByTime(now: number): boolean {
    const due = [...this.#ending].filter((key) => (this.#shown.get(key)?.until ?? now) < now);
    for (const key of due) this.show(key, endedShare(this.#shown.get(key)!));
    return due.length > 0;
  }

  /** What a key takes of an account, with one more version of its object if there is one. */
  #use({ rules }: Account, key: string, more?: QuotaShare): Amounts {
    const use = counted(rules, this.#shown.get(key));
    for (const share of this.#pending(key)) raise(use, counted(rules, share));
    if (more) raise(use, counted(rules, more));
    return use;
  }
}

function raise(to: Amounts, least: Readonly<Amounts>): void {
  for (const name in least) to[name] = Math.max(to[name] ?? 0, least[name]!);
}

function add(to: Amounts, more: Readonly<Amounts>, sign: 1 | -1): void {
  for (const name in more) {
    const sum = (to[name] ?? 0) + sign * more[name]!;
    if (sum === 0) delete to[name];
    else to[name] = sum;
  }
}
