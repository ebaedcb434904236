import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { isConflict, isNotFound } from '../../api/errors/index.ts';
import type { CustomResourceDefinition } from '../../api/generated/types.ts';
import { isEstablished, isInUse } from '../../api/kinds/custom-resource-definition/meaning.ts';
import { kindId } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { secondsTimestamp } from '../../api/meta/time.ts';
import { finalizers } from '../../api/meta/well-known.ts';
import type { MetricsRegistry } from '../../api/metrics/index.ts';
import type { TargetOf } from '../admission/webhooks/webhook-table.ts';
import type { AnyObject } from '../registry/any-object.ts';
import type { KindStore } from '../registry/kind-store.ts';
import type { Registry } from '../registry/registry.ts';
import { serverContext } from '../registry/server-context.ts';
import type { StoredVersions } from '../registry/stored-versions.ts';
import { type StorageClock, systemStorageClock } from '../storage/clock.ts';
import { type Entry, placeOf } from '../watch/entry.ts';
import { ObjectCompleter, storedForm } from './complete-objects.ts';
import { ConversionMeter } from './conversion/conversion-metrics.ts';
import { KindVersions } from './conversion/kind-versions.ts';
import { readSchema } from './definition-admission.ts';
import { DefinitionTable } from './definition-table.ts';
import { emptyKind, isEmptied } from './empty-kind.ts';
import { condition, decideStatus, noteUse } from './names.ts';
import { loadSchemaEngine } from './schema-engine.ts';
import { adopt, servedVersions } from './served-versions.ts';
import { WorkCounter } from './work-counter.ts';

export interface CustomKindsOptions {
  readonly registry: Registry;
  readonly log: Logger;
  readonly now: () => Date;
  /** Of the waits before something is tried again. */
  readonly clock?: StorageClock;
  /** How conversion webhooks are reached. */
  readonly targetOf: TargetOf;
  readonly metrics: MetricsRegistry;
  /** Serves a kind whose objects are stored so. */
  addKind(kind: Kind, versions?: StoredVersions): Promise<void>;
  removeKind(kind: Kind): Promise<void>;
}

interface Served {
  /** Of the definition: one that was deleted and made again is another. */
  readonly uid: string;
  readonly store: KindStore;
  readonly kinds: Map<string, Kind>;
  readonly completer: ObjectCompleter;
  /** Whether there have been objects, also if none is left. */
  isUsed: boolean;
  /** Of a kind that is being deleted: the objects up to this key have been told to go. */
  emptiedTo?: string | undefined;
  leave(): void;
}

/** The waits before what failed is tried again: the first, and the longest that doubling leads to. */
const retryMs = 1_000;
const longestRetryMs = 60_000;

/** The longest that discovery waits for what is being served, and how often it looks again. */
const mostSettlingMs = 10_000;
const settlingRounds = 4;

/**
 * Serves the kinds of CustomResourceDefinitions as these come, change and go: decides over their names, tells in their
 * status, and removes all objects of a kind before its definition.
 */
export class CustomKinds {
  readonly #options: CustomKindsOptions;
  readonly #definitions: KindStore;
  readonly #meter: ConversionMeter;
  readonly #table = new DefinitionTable();
  readonly #versions = new Map<string, KindVersions>();
  readonly #served = new Map<string, Served>();
  /** The ids of kinds that come back in another preferred version. */
  readonly #held = new Map<string, string>();
  /** In the order in which they are attended to. */
  readonly #due = new Set<string>();
  /** Attempts that failed one after the other, and what cancels the next one. */
  readonly #retries = new Map<string, { readonly failures: number; cancel(): void }>();
  readonly #clock: StorageClock;
  /** Of the run; before it objects are neither deleted nor completed. */
  #signal: AbortSignal | undefined;
  #wake = (): void => {};
  readonly #work = new WorkCounter();

  constructor(options: CustomKindsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemStorageClock;
    this.#definitions = options.registry.store('CustomResourceDefinition');
    this.#meter = new ConversionMeter(options.metrics);
    options.registry.stores.settled = () => this.#settled();
  }

  /**
   * Serves the kinds that were established before the start; the result keeps them until the signal aborts. Objects are
   * deleted only then: there may be many.
   */
  async begin(signal: AbortSignal): Promise<() => Promise<void>> {
    const { cache } = this.#definitions;
    const leave = cache.observe({
      reset: (entries) => {
        for (const entry of entries) cache.attempt(entry.key, () => this.#note(entry));
      },
      event: ({ type, entry }) => (type === 'DELETED' ? this.#forget(entry) : this.#note(entry)),
    });
    for (const name of [...this.#due]) if (!signal.aborted) await this.#attempt(name);
    return () => this.#run(signal).finally(leave);
  }

  async #run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    const onAbort = (): void => this.#wake();
    signal.addEventListener('abort', onAbort);
    while (!signal.aborted) {
      const [name] = this.#due;
      if (name !== undefined) await this.#attempt(name);
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
    signal.removeEventListener('abort', onAbort);
    for (const { cancel } of this.#retries.values()) cancel();
    for (const { leave } of this.#served.values()) leave();
  }

  /**
   * Resolves when all that is due has been attended to, as often as a deletion takes: it empties the kind, and serves
   * it no more once the definition is gone. After ten seconds in any case: there may be many.
   */
  async #settled(): Promise<void> {
    const late = new AbortController();
    const cancel = this.#clock.after(mostSettlingMs, () => late.abort());
    try {
      for (let round = 0; round < settlingRounds && !late.signal.aborted; round++) {
        await this.#definitions.fresh();
        if (!(await this.#work.after(this.#due.size, late.signal))) break;
      }
    } finally {
      cancel();
    }
  }

  #enqueue(name: string): void {
    this.#due.add(name);
    this.#wake();
  }

  #note(entry: Entry): void {
    this.#table.put(this.#definitions.cache.decoder.decode(entry) as CustomResourceDefinition);
    this.#enqueue(placeOf(entry.key).name);
  }

  #forget({ key }: Entry): void {
    const { name } = placeOf(key);
    // Those that wanted its names may have them now.
    for (const other of this.#table.remove(name)) this.#enqueue(other);
    this.#enqueue(name);
  }

  async #attempt(name: string): Promise<void> {
    this.#due.delete(name);
    const { failures = 0, cancel } = this.#retries.get(name) ?? {};
    cancel?.();
    this.#retries.delete(name);
    const done = this.#work.begin();
    try {
      await this.#sync(name);
    } catch (error) {
      const isLate = isConflict(error) || isNotFound(error);
      if (!isLate) this.#options.log.warn({ err: error, definition: name }, 'cannot serve a kind: trying again');
      const waitMs = Math.min(longestRetryMs, retryMs * 2 ** failures);
      const retry = this.#clock.after(waitMs, () => this.#enqueue(name));
      this.#retries.set(name, { failures: isLate ? failures : failures + 1, cancel: retry });
    } finally {
      done();
    }
  }

  async #sync(name: string): Promise<void> {
    const definition = this.#read(name);
    const served = this.#served.get(name);
    if (served && served.uid !== definition?.metadata?.uid) await this.#unserve(name);
    if (!definition) {
      this.#options.registry.stores.release(this.#held.get(name));
      this.#held.delete(name);
      this.#versions.get(name)?.close();
      this.#versions.delete(name);
      return;
    }
    const { status, metadata } = definition;
    const now = secondsTimestamp(this.#options.now());
    const next = decideStatus(definition, this.#table.takenBy(name), now);
    const decided = { ...definition, status: next };
    // Established means served: first the one, then the other.
    if (isEstablished(decided)) await this.#serve(name, decided);
    if (metadata?.deletionTimestamp) {
      if (this.#signal) return this.#terminate(name, definition);
      this.#due.add(name);
      return;
    }
    const isUsed = isInUse(definition) || this.#served.get(name)?.isUsed === true;
    const told = isUsed ? noteUse(definition, next, now) : next;
    if (!isDeepStrictEqual(told, status)) await this.#writeStatus(name, told);
    await this.#complete(name, definition);
  }

  /** Completes a batch of the objects by the defaults of their schema, and comes back for the next. */
  async #complete(name: string, definition: CustomResourceDefinition): Promise<void> {
    const served = this.#served.get(name);
    const form = served && storedForm(definition, served.kinds);
    if (!form) return served?.completer.leave();
    if (!served.completer.isDue(form)) return;
    if (!this.#signal) this.#due.add(name);
    else if (!(await served.completer.next(form, this.#signal))) this.#enqueue(name);
  }

  #read(name: string): CustomResourceDefinition | undefined {
    const { cache } = this.#definitions;
    const entry = cache.get(this.#definitions.key({ namespace: '', name }));
    return entry && (cache.decoder.decode(entry) as CustomResourceDefinition);
  }

  async #serve(name: string, definition: CustomResourceDefinition): Promise<void> {
    const { addKind, registry } = this.#options;
    await loadSchemaEngine();
    const [first, ...others] = servedVersions(definition, (version) => this.#schemaOf(name, version));
    const before = this.#served.get(name);
    if (!first) return this.#unserve(name);
    if (before && before.store.kind.apiVersion === first.apiVersion) {
      const kinds = this.#adopt(before, [first, ...others]);
      const versions = this.#versionsOf(name, definition, before.kinds);
      if (versions) before.store.versions.of = versions;
      else delete before.store.versions.of;
      registry.stores.setVersions(before.store, kinds.slice(1));
      return;
    }
    if (before) {
      // Until it is back, its objects are not missing: controllers delete what names an owner that is.
      registry.stores.hold(before.store.id);
      this.#held.set(name, before.store.id);
      await this.#unserve(name);
    }
    const kinds = new Map([first, ...others].map((kind) => [kind.apiVersion, kind]));
    await addKind(first, this.#versionsOf(name, definition, kinds));
    this.#held.delete(name);
    const store = registry.stores.get(kindId(first))!;
    registry.stores.setVersions(store, others);
    const isUsed = before?.isUsed === true || store.cache.size > 0;
    // What was written after the definition before the start has what that says.
    const upTo = this.#signal ? Number.POSITIVE_INFINITY : Number(definition.metadata?.resourceVersion);
    const completer = new ObjectCompleter(store, storedForm(definition, kinds), upTo);
    const served: Served = { uid: definition.metadata?.uid ?? '', store, kinds, completer, isUsed, leave: () => leave() };
    const look = (): void => {
      const isFirst = !served.isUsed && store.cache.size > 0;
      served.isUsed ||= isFirst;
      if (isFirst || this.#table.isTerminating(name)) this.#enqueue(name);
    };
    // A create that was under way when the deletion began is to go, too.
    const event = ({ type }: { readonly type: string }): void => {
      if (type === 'ADDED' || store.cache.size === 0) look();
    };
    const leave = store.cache.observe({ reset: look, event });
    this.#served.set(name, served);
  }

  /** How the objects of a definition are stored now. */
  #versionsOf(name: string, definition: CustomResourceDefinition, kinds: ReadonlyMap<string, Kind>): StoredVersions | undefined {
    const { targetOf } = this.#options;
    const known = this.#versions.get(name) ?? new KindVersions({ targetOf, meter: this.#meter, definition: name });
    this.#versions.set(name, known);
    return known.of(definition, (apiVersion) => kinds.get(apiVersion));
  }

  /** Gives the versions as they are served now. */
  #adopt({ store, kinds }: Served, next: readonly Kind[]): Kind[] {
    const fields = Object.keys(store.kind.selectableFields);
    const served = next.map((kind) => {
      const known = kinds.get(kind.apiVersion) ?? kind;
      kinds.set(kind.apiVersion, known);
      if (known !== kind) adopt(known, kind);
      return known;
    });
    // They were read once for each version of an object.
    if (!isDeepStrictEqual(fields, Object.keys(store.kind.selectableFields)))
      for (const entry of store.cache.range('')) delete entry.fields;
    return served;
  }

  async #unserve(name: string): Promise<void> {
    const served = this.#served.get(name);
    if (!served) return;
    served.leave();
    await this.#options.removeKind(served.store.kind);
    this.#served.delete(name);
  }

  /** As it is now: a definition that changes drops what was compiled of it. */
  #schemaOf(name: string, version: string) {
    const { raw } = this.#read(name)?.spec?.versions?.find((each) => each.name === version)?.schema?.openAPIV3Schema ?? {};
    if (!raw) throw new RangeError(`read the schema of ${name}: its definition has no version ${version} any more`);
    return readSchema(raw);
  }

  /** Removes the objects of the kind, then what keeps the definition. */
  async #terminate(name: string, definition: CustomResourceDefinition): Promise<void> {
    if (!definition.metadata?.finalizers?.includes(finalizers.customResources)) return;
    const said = {
      status: 'True',
      reason: 'InstanceDeletionInProgress',
      message: 'CustomResource deletion is in progress',
    };
    const terminating = condition(definition, 'Terminating', said, secondsTimestamp(this.#options.now()));
    const { conditions = [] } = definition.status ?? {};
    const next = { ...definition.status, conditions: [...conditions.filter(({ type }) => type !== 'Terminating'), terminating] };
    if (!isDeepStrictEqual(next, definition.status)) await this.#writeStatus(name, next);
    const served = this.#served.get(name);
    if (served && !(await this.#empty(name, served))) return;
    await this.#change(name, 'patch', (previous) => {
      const kept = (previous.metadata?.finalizers ?? []).filter((each) => each !== finalizers.customResources);
      return { ...previous, metadata: { ...previous.metadata, finalizers: kept } };
    });
  }

  /** Deletes a batch of the objects, and comes back for the next. Gives whether none is left. */
  async #empty(name: string, served: Served): Promise<boolean> {
    served.emptiedTo = await emptyKind(served.store, served.emptiedTo);
    if (served.emptiedTo === undefined) return isEmptied(served.store);
    this.#enqueue(name);
    return false;
  }

  #writeStatus(name: string, status: CustomResourceDefinition['status'] & object): Promise<void> {
    return this.#change(name, 'update-status', (previous) => ({ ...previous, status }) as AnyObject);
  }

  async #change(name: string, verb: string, compute: (previous: AnyObject) => AnyObject): Promise<void> {
    await this.#definitions.change({ namespace: '', name }, { context: serverContext, verb, compute });
  }
}
