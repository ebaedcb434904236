import type { ServiceContent, TableElement } from './compute-elements.ts';
import { nameOfChain, type Spread } from './layout.ts';

/** From one content of the table to the next. An element whose value changes is in both lists. */
export interface ContentDifference {
  readonly removed: readonly TableElement[];
  readonly added: readonly TableElement[];
  readonly removedChains: readonly Spread[];
  readonly addedChains: readonly Spread[];
}

interface Claim {
  readonly owner: string;
  readonly element: TableElement;
}

/**
 * The content of the table: the union of what all owners (Services, by key) need. Where several name one element, the
 * value of the lowest rank counts, and of equal ones that of the first owner in order of keys. So the content depends
 * on the owners of the moment alone, not on the order in which they came.
 */
export class WantedContent {
  readonly #contents = new Map<string, ServiceContent>();
  /** By set and key; in order of owners, never empty. */
  readonly #claims = new Map<string, readonly Claim[]>();
  readonly #chains = new Map<string, { readonly spread: Spread; readonly users: number }>();

  /** Replaces what these owners need (undefined: nothing any more) and returns what becomes different. */
  apply(changes: Iterable<readonly [owner: string, content: ServiceContent | undefined]>): ContentDifference {
    const elements = new Map<string, TableElement | undefined>();
    const chains = new Map<string, Spread | undefined>();
    for (const [owner, content] of changes) {
      const before = this.#contents.get(owner);
      if (content === undefined) this.#contents.delete(owner);
      else this.#contents.set(owner, content);
      this.#replaceElements(owner, before?.elements ?? [], content?.elements ?? [], elements);
      for (const spread of content?.chains ?? []) this.#use(spread, 1, chains);
      for (const spread of before?.chains ?? []) this.#use(spread, -1, chains);
    }
    return { ...this.#compareElements(elements), ...this.#compareChains(chains) };
  }

  /** All of it, as the difference from an empty table. */
  whole(): ContentDifference {
    return {
      removed: [],
      added: [...this.#claims.values()].map((claims) => claims[0]!.element),
      removedChains: [],
      addedChains: [...this.#chains.values()].map(({ spread }) => spread),
    };
  }

  #replaceElements(
    owner: string,
    before: readonly TableElement[],
    after: readonly TableElement[],
    touched: Map<string, TableElement | undefined>,
  ): void {
    const wanted = byId(after);
    const ids = before.length === 0 ? wanted.keys() : new Set([...byId(before).keys(), ...wanted.keys()]);
    for (const id of ids) {
      const claims = this.#claims.get(id);
      const mine = wanted.get(id);
      if (!touched.has(id)) touched.set(id, claims?.[0]?.element);
      const next = claims?.filter((claim) => claim.owner !== owner) ?? [];
      if (mine !== undefined) next.push({ owner, element: mine });
      if (next.length > 1) next.sort((a, b) => a.element.rank - b.element.rank || (a.owner < b.owner ? -1 : 1));
      if (next.length === 0) this.#claims.delete(id);
      else this.#claims.set(id, next);
    }
  }

  #use(spread: Spread, by: 1 | -1, touched: Map<string, Spread | undefined>): void {
    const name = nameOfChain(spread);
    const chain = this.#chains.get(name);
    if (!touched.has(name)) touched.set(name, chain?.spread);
    const users = (chain?.users ?? 0) + by;
    if (users === 0) this.#chains.delete(name);
    else this.#chains.set(name, { spread, users });
  }

  #compareElements(touched: ReadonlyMap<string, TableElement | undefined>): Pick<ContentDifference, 'removed' | 'added'> {
    const removed: TableElement[] = [];
    const added: TableElement[] = [];
    for (const [id, before] of touched) {
      const now = this.#claims.get(id)?.[0]?.element;
      if (before?.value === now?.value) continue;
      if (before !== undefined) removed.push(before);
      if (now !== undefined) added.push(now);
    }
    return { removed, added };
  }

  #compareChains(touched: ReadonlyMap<string, Spread | undefined>): Pick<ContentDifference, 'removedChains' | 'addedChains'> {
    const removedChains: Spread[] = [];
    const addedChains: Spread[] = [];
    for (const [name, before] of touched) {
      const now = this.#chains.get(name)?.spread;
      if (before !== undefined && now === undefined) removedChains.push(before);
      if (before === undefined && now !== undefined) addedChains.push(now);
    }
    return { removedChains, addedChains };
  }
}

/** Of two that an owner names twice, the first counts. */
function byId(elements: readonly TableElement[]): Map<string, TableElement> {
  const all = new Map<string, TableElement>();
  for (const element of elements) {
    const id = `${element.set} ${element.key}`;
    if (!all.has(id)) all.set(id, element);
  }
  return all;
}
