import type { APIService, APIServiceSpec } from '../../api/generated/types.ts';
import { automanagedLabel, availableOf } from '../../api/kinds/api-service/meaning.ts';
import type { Resource } from '../http/subresources.ts';
import type { KindStore } from '../registry/kind-store.ts';
import { placeOf } from '../watch/entry.ts';

/** A version of a group that an extension server serves. */
export interface RemoteGroup {
  /** Of the APIService: "v1.example.com". */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly spec: APIServiceSpec & { readonly service: NonNullable<APIServiceSpec['service']> };
  /** Whether requests are passed on. */
  readonly isAvailable: boolean;
}

/** What an extension server said last of what it serves. */
export interface RemoteContents {
  readonly resources: readonly Resource[];
  /** Whether it was reached when it was asked last. */
  readonly isCurrent: boolean;
}

/** Which groups extension servers serve, as their APIServices say; looked at for each request. */
export class RemoteGroups {
  readonly #groups = new Map<string, RemoteGroup>();
  readonly #contents = new Map<string, RemoteContents>();
  /** Groups that the program itself serves stay its own, whatever the objects say: "apps/v1". */
  readonly #ofProgram: ReadonlySet<string>;
  readonly #store: KindStore | undefined;

  constructor(store: KindStore | undefined, ofProgram: ReadonlySet<string>) {
    this.#store = store;
    this.#ofProgram = ofProgram;
  }

  /** Follows the objects; the returned function ends that. */
  observe(): () => void {
    const cache = this.#store?.cache;
    if (!cache) return () => {};
    const put = (entry: Parameters<typeof cache.decoder.decode>[0]): void =>
      this.#put(placeOf(entry.key).name, cache.decoder.decode(entry) as APIService);
    return cache.observe({
      reset: (entries) => {
        this.#groups.clear();
        for (const entry of entries) cache.attempt(entry.key, () => put(entry));
        for (const key of this.#contents.keys()) if (!this.#groups.has(key)) this.#contents.delete(key);
      },
      event: ({ type, entry }) => (type === 'DELETED' ? this.#remove(placeOf(entry.key).name) : put(entry)),
    });
  }

  #put(name: string, object: APIService): void {
    const { spec, metadata } = object;
    const { group = '', version = '', service } = spec ?? {};
    const isOwn = metadata?.labels?.[automanagedLabel] !== undefined || this.#ofProgram.has(`${group}/${version}`);
    if (!service || group === '' || isOwn) this.#remove(name);
    else {
      const isAvailable = availableOf(object)?.status === 'True';
      this.#groups.set(`${group}/${version}`, { name, group, version, spec: { ...spec, service }, isAvailable });
    }
  }

  #remove(name: string): void {
    const dot = name.indexOf('.');
    const key = `${name.slice(dot + 1)}/${name.slice(0, dot)}`;
    this.#groups.delete(key);
    this.#contents.delete(key);
  }

  find(group: string, version: string): RemoteGroup | undefined {
    return this.#groups.get(`${group}/${version}`);
  }

  [Symbol.iterator](): Iterator<RemoteGroup> {
    return this.#groups.values();
  }

  get size(): number {
    return this.#groups.size;
  }

  contentsOf({ group, version }: RemoteGroup): RemoteContents {
    return this.#contents.get(`${group}/${version}`) ?? nothing;
  }

  /** What the server was found to serve; undefined: it was not reached, and what it said before is kept. */
  note(of: RemoteGroup, resources: readonly Resource[] | undefined): void {
    const key = `${of.group}/${of.version}`;
    if (!this.#groups.has(key)) return;
    const known = this.contentsOf(of);
    this.#contents.set(key, resources ? { resources, isCurrent: true } : { ...known, isCurrent: false });
  }
}

const nothing: RemoteContents = { resources: [], isCurrent: false };
