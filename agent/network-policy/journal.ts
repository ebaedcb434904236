import type { GroupChain, PeerSet } from './compile-group.ts';
import type { Steps } from './in-turns.ts';

/** Steps pause after so many elements, or peers that a set is asked for. */
export const peersOfStep = 100;

/** One element of a set or map, as nft writes it; `value` is empty in a set. */
export interface PolicyElement {
  readonly set: string;
  readonly key: string;
  readonly value: string;
}

/** From one content of the table to the next. An element whose value changes is in both lists. */
export interface PolicyDifference {
  readonly removed: readonly PolicyElement[];
  readonly added: Iterable<PolicyElement>;
  readonly removedChains: readonly string[];
  readonly addedChains: readonly GroupChain[];
  readonly removedSets: readonly string[];
  readonly addedSets: readonly PeerSet[];
}

/** What there is now. */
interface Present {
  value(set: string, key: string): string | undefined;
  chain(name: string): GroupChain | undefined;
  hasSet(name: string): boolean;
  /** Undefined also for sets that are always there. */
  set(name: string): PeerSet | undefined;
}

/** What was touched since the last difference, as it was before. */
export class Journal {
  readonly #elements = new Map<string, { readonly set: string; readonly key: string; readonly value: string | undefined }>();
  readonly #chains = new Map<string, GroupChain | undefined>();
  readonly #sets = new Map<string, PeerSet | undefined>();

  element(set: string, key: string, value: string | undefined): void {
    const id = `${set} ${key}`;
    if (!this.#elements.has(id)) this.#elements.set(id, { set, key, value });
  }

  chain(name: string, before: GroupChain | undefined): void {
    if (!this.#chains.has(name)) this.#chains.set(name, before);
  }

  set(name: string, before: PeerSet | undefined): void {
    if (!this.#sets.has(name)) this.#sets.set(name, before);
  }

  *take(now: Present): Steps<PolicyDifference> {
    const [removed, added]: [PolicyElement[], PolicyElement[]] = [[], []];
    let seen = 0;
    for (const { set, key, value: before } of this.#elements.values()) {
      if (++seen % peersOfStep === 0) yield;
      const value = now.value(set, key);
      if (value === before) continue;
      // The elements of a set go with it.
      if (before !== undefined && now.hasSet(set)) removed.push({ set, key, value: before });
      if (value !== undefined) added.push({ set, key, value });
    }
    const chains = [...this.#chains].filter(([name, before]) => (before === undefined) !== (now.chain(name) === undefined));
    const sets = [...this.#sets].filter(([name, before]) => (before === undefined) !== (now.set(name) === undefined));
    const difference: PolicyDifference = {
      ...{ removed, added },
      removedChains: chains.flatMap(([name, before]) => (before === undefined ? [] : [name])),
      addedChains: chains.flatMap(([name, before]) => (before === undefined ? [now.chain(name)!] : [])),
      removedSets: sets.flatMap(([name, before]) => (before === undefined ? [] : [name])),
      addedSets: sets.flatMap(([name, before]) => (before === undefined ? (now.set(name) ?? []) : [])),
    };
    this.#elements.clear();
    this.#chains.clear();
    this.#sets.clear();
    return difference;
  }
}
