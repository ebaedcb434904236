import type { Logger } from 'pino';
import type { APIService, CustomResourceDefinition } from '../../api/generated/types.ts';
import { apiServiceName, automanagedLabel, localCondition } from '../../api/kinds/api-service/meaning.ts';
import { isEstablished, servedVersionsOf } from '../../api/kinds/custom-resource-definition/meaning.ts';
import { secondsTimestamp } from '../../api/meta/time.ts';
import type { AnyObject } from '../registry/any-object.ts';
import { cloneObject } from '../registry/clone-object.ts';
import { createObject } from '../registry/create.ts';
import { Keeper } from '../registry/keepers/keeper.ts';
import type { KindStore } from '../registry/kind-store.ts';
import { nextVersion } from '../registry/next-version.ts';
import type { Registry } from '../registry/registry.ts';
import { serverContext } from '../registry/server-context.ts';
import { type StorageClock, systemStorageClock } from '../storage/clock.ts';
import { type Entry, placeOf } from '../watch/entry.ts';
import { customService, decideLocal, type LocalService, lacksLocalStatus, programServices } from './local-groups.ts';

export interface LocalServicesOptions {
  readonly registry: Registry;
  readonly log: Logger;
  /** Of the waits. */
  readonly clock?: StorageClock;
}

const what = 'the APIServices of served groups';
/** After a write, so that another writer of the object and this server do not keep each other busy. */
const paceMs = 1_000;
/** Objects that are looked at at once, so that their writes share commits. */
const workers = 32;

/**
 * Keeps an APIService for each version of each group that the server serves itself: made when it is missing, restored
 * when it is changed or deleted.
 */
export class LocalServices {
  readonly #options: LocalServicesOptions;
  readonly #store: KindStore | undefined;
  readonly #definitions: KindStore | undefined;
  readonly #clock: StorageClock;
  readonly #ofProgram: ReadonlyMap<string, LocalService>;
  /** What each established definition serves, and how many definitions serve it: the names of objects. */
  readonly #ofDefinition = new Map<string, ReadonlyMap<string, LocalService>>();
  readonly #counts = new Map<string, { readonly service: LocalService; readonly of: Set<string> }>();
  readonly #keeper: Keeper | undefined;
  #isStart = true;

  constructor(options: LocalServicesOptions) {
    this.#options = options;
    const { stores } = options.registry;
    this.#store = stores.get('APIService');
    this.#definitions = stores.get('CustomResourceDefinition');
    this.#clock = options.clock ?? systemStorageClock;
    this.#ofProgram = programServices(stores);
    const store = this.#store;
    if (!store) return;
    const sources = [{ cache: store.cache, keysOf: ({ key }: Entry) => [placeOf(key).name] }];
    this.#keeper = new Keeper({
      ...{ what, sources, workers, paceMs, clock: this.#clock, log: options.log },
      all: () => this.#names(store),
      sync: (name) => this.#sync(store, name),
    });
  }

  /** Writes what is missing, so that clients find it; the result keeps it until the signal aborts. */
  async begin(signal: AbortSignal): Promise<() => Promise<void>> {
    const [store, definitions, keeper] = [this.#store, this.#definitions, this.#keeper];
    if (!store || !keeper) return async () => {};
    const leave = definitions?.cache.observe({
      reset: (entries) => this.#noteAll(definitions, entries),
      event: ({ type, entry }) => this.#note(definitions, entry, type === 'DELETED'),
    });
    const names = this.#names(store);
    for (let at = 0; at < names.length && !signal.aborted; at += workers)
      await Promise.all(names.slice(at, at + workers).map((name) => this.#attempt(store, name)));
    this.#isStart = false;
    return () => keeper.run(signal).finally(leave);
  }

  #names({ cache, keyPrefix }: KindStore): readonly string[] {
    const stored = cache.range(keyPrefix).map(({ key }) => placeOf(key).name);
    return [...new Set([...this.#ofProgram.keys(), ...this.#counts.keys(), ...stored])];
  }

  /** What fails is tried again while the server serves. */
  async #attempt(store: KindStore, name: string): Promise<void> {
    try {
      await this.#sync(store, name);
    } catch (error) {
      this.#options.log.warn({ err: error, apiService: name }, `cannot make ${what}`);
    }
  }

  #noteAll(definitions: KindStore, found: Iterable<Entry>): void {
    const entries = [...found];
    const there = new Set(entries.map(({ key }) => placeOf(key).name));
    for (const name of this.#ofDefinition.keys()) if (!there.has(name)) this.#serve(name, new Map());
    for (const entry of entries) definitions.cache.attempt(entry.key, () => this.#note(definitions, entry, false));
  }

  #note({ cache }: KindStore, entry: Entry, isGone: boolean): void {
    const definition = cache.decoder.decode(entry) as CustomResourceDefinition;
    const { spec } = definition;
    const versions = isGone || !isEstablished(definition) ? [] : servedVersionsOf(spec);
    const group = spec?.group ?? '';
    const services = versions.map(({ name = '' }) => [apiServiceName(group, name), customService(group, name)] as const);
    this.#serve(placeOf(entry.key).name, new Map(services));
  }

  /** What a definition serves from now on. */
  #serve(definition: string, services: ReadonlyMap<string, LocalService>): void {
    const before = this.#ofDefinition.get(definition);
    for (const name of before?.keys() ?? []) {
      if (services.has(name)) continue;
      const { of } = this.#counts.get(name)!;
      of.delete(definition);
      if (of.size > 0) continue;
      this.#counts.delete(name);
      this.#keeper?.wake(name);
    }
    for (const [name, service] of services) {
      const known = this.#counts.get(name);
      if (known) known.of.add(definition);
      else {
        this.#counts.set(name, { service, of: new Set([definition]) });
        this.#keeper?.wake(name);
      }
    }
    if (services.size > 0) this.#ofDefinition.set(definition, services);
    else this.#ofDefinition.delete(definition);
  }

  /** Whether anything was written. */
  async #sync(store: KindStore, name: string): Promise<boolean> {
    const at = { namespace: '', name };
    const entry = await store.read(at);
    const stored = entry && (store.cache.decoder.decode(entry) as APIService);
    const wanted = this.#ofProgram.get(name) ?? this.#counts.get(name)?.service;
    switch (decideLocal(stored, wanted, this.#isStart)) {
      case 'create':
        await this.#create(store, name, wanted!);
        return true;
      case 'restore':
        await this.#change(store, name, (previous) => restored(store, wanted!, previous));
        return true;
      case 'remove': {
        const resourceVersion = stored?.metadata?.resourceVersion;
        await store.change(at, { context: serverContext, verb: 'delete', resourceVersion, compute: () => 'remove' as const });
        return true;
      }
      case 'nothing':
        if (!stored || !lacksLocalStatus(stored)) return false;
        await this.#change(store, name, (previous) => withLocalStatus(store, previous, this.#now()));
        return true;
    }
  }

  #now() {
    return secondsTimestamp(new Date(this.#clock.now()));
  }

  async #create(store: KindStore, name: string, wanted: LocalService): Promise<void> {
    const take = (): AnyObject => {
      const labels = { [automanagedLabel]: wanted.managed };
      return { metadata: { name, labels }, spec: { ...wanted.spec } } as AnyObject;
    };
    await createObject(store, this.#options.registry.admission, { ...serverContext, take });
  }

  async #change(store: KindStore, name: string, compute: (previous: AnyObject) => AnyObject): Promise<void> {
    const step = (previous: AnyObject): AnyObject => {
      const next = compute(previous);
      return lacksLocalStatus(next as APIService) ? withLocalStatus(store, next, this.#now()) : next;
    };
    await store.change({ namespace: '', name }, { context: serverContext, verb: 'update', compute: step });
  }
}

function restored(store: KindStore, wanted: LocalService, previous: AnyObject): AnyObject {
  const next = cloneObject(previous) as AnyObject & APIService;
  next.metadata = { ...next.metadata, labels: { ...next.metadata?.labels, [automanagedLabel]: wanted.managed } };
  next.spec = { ...wanted.spec };
  return nextVersion(store, 'object', next, previous);
}

function withLocalStatus(store: KindStore, previous: AnyObject, now: ReturnType<typeof secondsTimestamp>): AnyObject {
  const next = cloneObject(previous) as AnyObject & APIService;
  const others = (next.status?.conditions ?? []).filter(({ type }) => type !== 'Available');
  next.status = { ...next.status, conditions: [...others, localCondition(now)] };
  return nextVersion(store, 'status', next, previous);
}
