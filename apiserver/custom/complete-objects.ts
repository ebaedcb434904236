import { setImmediate as turn } from 'node:timers/promises';
import { isInvalid, isNotFound } from '../../api/errors/index.ts';
import type { CustomResourceDefinition } from '../../api/generated/types.ts';
import { storageVersionOf } from '../../api/kinds/custom-resource-definition/meaning.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { equalValues } from '../../api/meta/equal.ts';
import type { AnyObject } from '../registry/any-object.ts';
import { cloneObject } from '../registry/clone-object.ts';
import type { KindStore } from '../registry/kind-store.ts';
import { serverContext } from '../registry/server-context.ts';
import { type Entry, placeOf } from '../watch/entry.ts';

/** Objects that are looked at in one go; between two batches the server attends to other kinds, or stops. */
export const COMPLETE_BATCH = 100;
/** Of these, between two turns for calls. */
const OBJECTS_PER_TURN = 10;

/** The version in which a kind is stored, and its schema as the definition has it. */
export interface StoredForm {
  readonly kind: Kind;
  readonly schema: Buffer;
}

/** The form of the objects of a definition; undefined while their version is not served, or a webhook converts them. */
export function storedForm({ spec = {} }: CustomResourceDefinition, kinds: ReadonlyMap<string, Kind>): StoredForm | undefined {
  if (spec.conversion?.strategy === 'Webhook') return undefined;
  const { name, schema } = storageVersionOf(spec) ?? {};
  const kind = kinds.get(`${spec.group}/${name}`);
  const { raw } = schema?.openAPIV3Schema ?? {};
  return kind && raw && { kind, schema: Buffer.from(raw) };
}

interface Walk {
  readonly schema: Buffer;
  /** Objects that are newer have the defaults already. */
  readonly upTo: number;
  after?: string | undefined;
}

/**
 * Writes the defaults that a schema was given later into the objects of a kind that lack them. Kubernetes adds them
 * whenever it reads; here what is stored is complete, so that each default is written once, and watches show it. What a
 * webhook converts is left alone: it says itself what its versions lack.
 */
export class ObjectCompleter {
  readonly #store: KindStore;
  /** The schema whose defaults all objects have. */
  #done: Buffer | undefined;
  #walk: Walk | undefined;

  /** `first`: the form that is served first. Objects that are newer than `upTo` were made with its defaults. */
  constructor(store: KindStore, first: StoredForm | undefined, upTo: number) {
    this.#store = store;
    if (!first) return;
    const { schema } = first;
    if (mayDefault(schema) && store.cache.size > 0) this.#walk = { schema, upTo };
    else this.#done = schema;
  }

  /** Whether objects may lack defaults. */
  isDue({ schema }: StoredForm): boolean {
    return !this.#done?.equals(schema);
  }

  /** The objects have no form at the moment: those that are written now may lack defaults later. */
  leave(): void {
    this.#done = undefined;
    this.#walk = undefined;
  }

  /** Completes the next objects, at most a batch of them, until the signal aborts. Gives whether that was the last. */
  async next({ kind, schema }: StoredForm, signal: AbortSignal): Promise<boolean> {
    const store = this.#store;
    // Objects may have been written between a change of the schema and this server's knowing of it.
    if (!this.#walk?.schema.equals(schema)) this.#walk = { schema, upTo: Number.POSITIVE_INFINITY };
    const walk = this.#walk;
    const entries = mayDefault(schema) ? store.cache.range(store.keyPrefix, walk.after).slice(0, COMPLETE_BATCH) : [];
    for (const [at, entry] of entries.entries()) {
      if (at % OBJECTS_PER_TURN === 0) await turn();
      if (signal.aborted) return false;
      if (entry.revision < walk.upTo && isIncomplete(store, kind, entry)) await complete(store, kind, entry);
    }
    walk.after = entries.at(-1)?.key;
    if (walk.after !== undefined) return false;
    this.#done = schema;
    return true;
  }
}

const mayDefault = (schema: Buffer): boolean => schema.includes('"default"');

/** Undefined for an object that takes no defaults: those of the schema are too many for it. */
function completed(kind: Kind, object: AnyObject): AnyObject | undefined {
  const next = cloneObject(object);
  try {
    kind.defaults(next);
    return next;
  } catch {
    return undefined;
  }
}

function isIncomplete({ cache }: KindStore, kind: Kind, entry: Entry): boolean {
  return (
    cache.attempt(entry.key, () => {
      const object = cache.decoder.decode(entry) as AnyObject;
      const next = completed(kind, object);
      return next !== undefined && !equalValues(next, object);
    }) === true
  );
}

/**
 * Of a verb that is recorded for no manager: none owns a field that was defaulted. An object that the defaults would
 * make too large stays without them.
 */
async function complete(store: KindStore, kind: Kind, { key }: Entry): Promise<void> {
  const compute = (previous: AnyObject) => completed(kind, previous) ?? previous;
  try {
    await store.change(placeOf(key), { context: serverContext, verb: 'default', compute });
  } catch (error) {
    if (!isNotFound(error) && !isInvalid(error)) throw error;
  }
}
