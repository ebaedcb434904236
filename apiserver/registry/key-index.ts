import type { Entry } from '../watch/entry.ts';
import type { KindCache } from '../watch/kind-cache.ts';

/** The keys of a kind's objects by what the objects name, such as an address; follows the watch cache. */
export class KeyIndex {
  readonly #cache: KindCache;
  readonly #namesOf: (entry: Entry) => readonly string[];
  readonly #keys = new Map<string, Set<string>>();

  /** `namesOf`: what an object names. */
  constructor(cache: KindCache, namesOf: (entry: Entry) => readonly string[]) {
    this.#cache = cache;
    this.#namesOf = namesOf;
  }

  /** Begins to follow the cache; the returned function ends it. */
  observe(): () => void {
    const look = (entry: Entry, change: (name: string, key: string) => void): void => {
      this.#cache.attempt(entry.key, () => {
        for (const name of this.#namesOf(entry)) change(name, entry.key);
      });
    };
    const add = (name: string, key: string): void => this.#add(name, key);
    return this.#cache.observe({
      reset: (entries) => {
        this.#keys.clear();
        for (const entry of entries) look(entry, add);
      },
      event: ({ type, entry, previous }) => {
        if (previous) look(previous, (name, key) => this.#remove(name, key));
        if (type !== 'DELETED') look(entry, add);
      },
    });
  }

  /** The objects that name it. */
  of(name: string): readonly string[] {
    return [...(this.#keys.get(name) ?? [])];
  }

  /** What is named. */
  names(): readonly string[] {
    return [...this.#keys.keys()];
  }

  /** All objects that name anything; one that names two things comes twice. */
  keys(): readonly string[] {
    return [...this.#keys.values()].flatMap((keys) => [...keys]);
  }

  #add(name: string, key: string): void {
    const keys = this.#keys.get(name);
    if (keys) keys.add(key);
    else this.#keys.set(name, new Set([key]));
  }

  #remove(name: string, key: string): void {
    const keys = this.#keys.get(name);
    if (keys?.delete(key) && keys.size === 0) this.#keys.delete(name);
  }
}
