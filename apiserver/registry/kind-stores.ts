import { ApiError, badRequest, unavailable } from '../../api/errors/index.ts';
import type { KindReference } from '../../api/generated/types.ts';
import { groupOf } from '../../api/kinds/identity.ts';
import { kindId } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { olderVersionsOf } from '../../api/kinds/versions.ts';
import { GrowingSet } from '../../api/meta/growing-set.ts';
import type { KindStore } from './kind-store.ts';
import { storeAs } from './store-version.ts';

/**
 * The stores of all kinds by their ids ("Pod", "Toy.toys.example.com"; see `kindId`). Kinds may come while the server
 * runs: whatever looks at all kinds iterates this at each use, or follows it, and keeps no copy.
 */
export class KindStores implements Iterable<KindStore> {
  readonly #byId = new Map<string, KindStore>();
  readonly #stores = new GrowingSet<KindStore>();
  /** The other served versions of a kind, by the kind's id and apiVersion. */
  readonly #versions = new Map<string, ReadonlyMap<string, KindStore>>();
  /** Kinds that are missing for a moment. */
  readonly #held = new Set<string>();

  /**
   * Resolves once what has been written of definitions is served: discovery waits for it, so that it shows a kind with
   * the next read. Set by what serves them.
   */
  settled: () => Promise<void> = () => Promise.resolve();

  constructor(stores: Iterable<KindStore> = []) {
    for (const store of stores) this.add(store);
  }

  [Symbol.iterator](): Iterator<KindStore> {
    return this.#stores[Symbol.iterator]();
  }

  get(id: string): KindStore | undefined {
    return this.#byId.get(id);
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  /** Throws RangeError for a kind that is there already: nothing may serve another kind's objects. */
  check(store: KindStore): void {
    if (this.#byId.has(store.id)) throw new RangeError(`add the kind ${store.id}: there is one of that group and name`);
    for (const other of this)
      if (other.keyPrefix === store.keyPrefix)
        throw new RangeError(`add the kind ${store.id}: ${other.id} has the resource ${store.kind.plural} in that group`);
  }

  /** Throws as `check`. */
  add(store: KindStore): void {
    this.check(store);
    this.#held.delete(store.id);
    this.#byId.set(store.id, store);
    this.#stores.add(store);
    this.setVersions(store, olderVersionsOf(store.id));
  }

  /** Serves a kind no more. Nothing for an id that is not there. */
  remove(id: string): void {
    const store = this.#byId.get(id);
    if (!store) return;
    this.#byId.delete(id);
    this.#versions.delete(id);
    this.#stores.remove(store);
  }

  /** Requests for a kind that is missing are to be tried again, until it is there or `release` is called. */
  hold(id: string): void {
    this.#held.add(id);
  }

  release(id: string | undefined): void {
    if (id !== undefined) this.#held.delete(id);
  }

  /** Sets the versions that a kind is served in besides its own; they replace those of before. */
  setVersions(store: KindStore, kinds: readonly Kind[]): void {
    const before = this.#versions.get(store.id);
    this.#versions.set(
      store.id,
      new Map(kinds.map((kind) => [kind.apiVersion, before?.get(kind.apiVersion) ?? storeAs(store, kind)])),
    );
  }

  /** The other versions that a kind is served in, the preferred ones first. */
  versionsOf(id: string): readonly string[] {
    return [...(this.#versions.get(id)?.keys() ?? [])];
  }

  /** Every version that a kind is served in, the preferred one first; none of a kind that is not there. */
  servedVersionsOf(id: string): readonly string[] {
    const own = this.#byId.get(id)?.kind.apiVersion;
    return own === undefined ? [] : [own, ...this.versionsOf(id)];
  }

  /** Calls `follower` for each kind that is there, and for each that comes, until the returned function is called. */
  follow(follower: (store: KindStore) => void): () => void {
    return this.#stores.follow(follower);
  }

  /**
   * The store of the kind that a request names: by kind and group, or, without an apiVersion, by its id, else by its
   * kind. Throws NOT_FOUND, UNAVAILABLE for one that is held, and INVALID_ARGUMENT for another version, and for a name
   * that only kinds of several groups have.
   */
  find({ kind = '', apiVersion = '' }: KindReference): KindStore {
    if (!kind) throw badRequest('name the kind of the object');
    const own = this.#byId.get(kind);
    if (own && (apiVersion === '' || apiVersion === own.kind.apiVersion)) return own;
    const namesakes = [...this].filter((store) => store.kind.kind === kind);
    const [first, ...others] = apiVersion === '' ? namesakes : namesakes.filter((store) => isOf(store, groupOf(apiVersion)));
    if (first && others.length === 0 && (apiVersion === '' || apiVersion === first.kind.apiVersion)) return first;
    const version = this.#version(first && others.length === 0 ? [first] : namesakes, apiVersion);
    if (version) return version;
    if (!first && this.#isHeld(kind, apiVersion)) throw unavailable(`the versions of the kind "${kind}" are changing: try again`);
    if (namesakes.length === 0) missing(kind, apiVersion);
    if (apiVersion === '')
      throw badRequest(`several kinds are called "${kind}": name the apiVersion, ${apiVersionsOf(namesakes)}`);
    const served = (first ? [first] : namesakes).flatMap((store) => [store.kind.apiVersion, ...this.versionsOf(store.id)]);
    throw badRequest(`apiVersion "${apiVersion}" is not known for kind "${kind}": use ${orText(served)}`);
  }

  /** Of the first kind that has it: a version may be of another group than its kind. */
  #version(stores: readonly KindStore[], apiVersion: string): KindStore | undefined {
    for (const { id } of stores) {
      const found = this.#versions.get(id)?.get(apiVersion);
      if (found) return found;
    }
    return undefined;
  }

  #isHeld(kind: string, apiVersion: string): boolean {
    if (apiVersion !== '') return this.#held.has(kindId({ kind, apiVersion }));
    return [...this.#held].some((id) => id === kind || id.startsWith(`${kind}.`));
  }
}

function isOf({ kind }: KindStore, group: string): boolean {
  return groupOf(kind.apiVersion) === group;
}

const apiVersionsOf = (stores: readonly KindStore[]): string => orText(stores.map(({ kind }) => kind.apiVersion));
const orText = (words: readonly string[]): string => words.map((word) => `"${word}"`).join(' or ');

function missing(kind: string, apiVersion: string): never {
  const version = apiVersion === '' ? '' : ` in version "${apiVersion}"`;
  throw new ApiError('NOT_FOUND', 'NotFound', `no kind "${kind}"${version}; a CustomResourceDefinition would add it`);
}
