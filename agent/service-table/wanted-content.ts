import type { ServiceContent, TableElement } from './compute-elements.ts';
import { nameOfChain, type SetName, type Spread } from './layout.ts';

/** From one content of the table to the next. An element whose value changes is in both lists. */
export interface ContentDifference {
  readonly removed: readonly TableElement[];
  readonly added: readonly TableElement[];
  readonly removedChains: readonly Spread[];
  readonly addedChains: readonly Spread[];
}

/**
 * The content of the table: the union of what all owners (Services, by key) need. Where several name one element, the
 * value of the lowest rank counts, and of equal ones that of the first owner in order of keys. So the content depends
 * on the owners of the moment alone, not on the order in which they came. It is kept as text, a fifth of what the
 * objects take: most of it stays as it is for days.
 */
export class WantedContent {
  /** By owner, as `pack` writes it. */
  readonly #contents = new Map<string, string>();
  /** Of the few owners that need chains besides the standing ones. */
  readonly #chainsOf = new Map<string, readonly Spread[]>();
  /** By set and key: the owners behind their ranks ("0bench/web"). Of several, in order, the first counts. */
  readonly #claims = new Map<string, string | readonly string[]>();
  readonly #chains = new Map<string, { readonly spread: Spread; readonly users: number }>();

  /** Replaces what these owners need (undefined: nothing any more) and returns what becomes different. */
  apply(changes: Iterable<readonly [owner: string, content: ServiceContent | undefined]>): ContentDifference {
    const elements = new Map<string, TableElement | undefined>();
    const chains = new Map<string, Spread | undefined>();
    const read = this.#reader();
    for (const [owner, content] of changes) {
      const before = read(owner);
      const after = byId(content?.elements ?? []);
      for (const id of new Set([...before.keys(), ...after.keys()]))
        if (!elements.has(id)) elements.set(id, this.#elementOf(id, read));
      if (content === undefined) this.#contents.delete(owner);
      else this.#contents.set(owner, pack(after.values()));
      read.changed(owner, after);
      this.#replaceClaims(owner, before, after);
      for (const spread of content?.chains ?? []) this.#use(spread, 1, chains);
      for (const spread of this.#chainsOf.get(owner) ?? []) this.#use(spread, -1, chains);
      if (content && content.chains.length > 0) this.#chainsOf.set(owner, content.chains);
      else this.#chainsOf.delete(owner);
    }
    return { ...this.#compareElements(elements, read), ...this.#compareChains(chains) };
  }

  /** All of it, as the difference from an empty table. */
  whole(): ContentDifference {
    const added: TableElement[] = [];
    for (const [owner, text] of this.#contents)
      for (const element of unpack(text)) if (ownerOf(this.#claims.get(idOf(element))) === owner) added.push(element);
    return {
      ...{ removed: [], added, removedChains: [] },
      addedChains: [...this.#chains.values()].map(({ spread }) => spread),
    };
  }

  /** Reads what an owner needs at the moment, each once. */
  #reader(): Reader {
    const known = new Map<string, ReadonlyMap<string, TableElement>>();
    const read = (owner: string): ReadonlyMap<string, TableElement> => {
      const elements = known.get(owner) ?? byId(unpack(this.#contents.get(owner) ?? ''));
      known.set(owner, elements);
      return elements;
    };
    return Object.assign(read, { changed: (owner: string, now: ReadonlyMap<string, TableElement>) => known.set(owner, now) });
  }

  /** The one that counts. */
  #elementOf(id: string, read: Reader): TableElement | undefined {
    const owner = ownerOf(this.#claims.get(id));
    return owner === undefined ? undefined : read(owner).get(id);
  }

  #replaceClaims(owner: string, before: ReadonlyMap<string, TableElement>, after: ReadonlyMap<string, TableElement>): void {
    const names = new Map<number, string>();
    for (const [id, { rank }] of after) {
      const name = names.get(rank) ?? `${rank}${owner}`;
      names.set(rank, name);
      const claims = this.#claims.get(id);
      if (claims === undefined) this.#claims.set(id, name);
      else this.#setClaims(id, [...withoutOwner(claims, owner), name].sort());
    }
    for (const id of before.keys()) {
      const claims = after.has(id) ? undefined : this.#claims.get(id);
      if (claims !== undefined) this.#setClaims(id, withoutOwner(claims, owner));
    }
  }

  #setClaims(id: string, claims: readonly string[]): void {
    if (claims.length === 0) this.#claims.delete(id);
    else this.#claims.set(id, claims.length === 1 ? claims[0]! : claims);
  }

  #use(spread: Spread, by: 1 | -1, touched: Map<string, Spread | undefined>): void {
    const name = nameOfChain(spread);
    const chain = this.#chains.get(name);
    if (!touched.has(name)) touched.set(name, chain?.spread);
    const users = (chain?.users ?? 0) + by;
    if (users === 0) this.#chains.delete(name);
    else this.#chains.set(name, { spread, users });
  }

  #compareElements(
    touched: ReadonlyMap<string, TableElement | undefined>,
    read: Reader,
  ): Pick<ContentDifference, 'removed' | 'added'> {
    const removed: TableElement[] = [];
    const added: TableElement[] = [];
    for (const [id, before] of touched) {
      const now = this.#elementOf(id, read);
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

/** What an owner needs, by `idOf`. */
interface Reader {
  (owner: string): ReadonlyMap<string, TableElement>;
  changed(owner: string, now: ReadonlyMap<string, TableElement>): void;
}

/** Joined, not put together: V8 would keep the parts beside the whole. */
const idOf = ({ set, key }: TableElement): string => [set, key].join(' ');

/** Ranks have one digit. */
const ownerOf = (claims: string | readonly string[] | undefined): string | undefined =>
  (typeof claims === 'string' ? claims : claims?.[0])?.slice(1);

const withoutOwner = (claims: string | readonly string[], owner: string): string[] =>
  (typeof claims === 'string' ? [claims] : claims).filter((claim) => claim.slice(1) !== owner);

/** Of two that an owner names twice, the first counts. */
function byId(elements: Iterable<TableElement>): Map<string, TableElement> {
  const all = new Map<string, TableElement>();
  for (const element of elements) {
    const id = idOf(element);
    if (!all.has(id)) all.set(id, element);
  }
  return all;
}

/** A line for each element. Keys and values are addresses, numbers and names of chains: they have no tabs. */
const pack = (elements: Iterable<TableElement>): string =>
  Array.from(elements, ({ set, key, value, rank }) => [set, key, value, rank].join('\t')).join('\n');

function unpack(text: string): TableElement[] {
  if (text === '') return [];
  return text.split('\n').map((line) => {
    const [set, key = '', value = '', rank] = line.split('\t');
    return { set: set as SetName, key, value, rank: Number(rank) };
  });
}
