import { toJson } from '../../../api/codec/json.ts';
import { asApiError } from '../../../api/errors/index.ts';
import type { ParamKind, ParamRef } from '../../../api/generated/types.ts';
import { labelSelectorMatches } from '../../../api/meta/labels.ts';
import type { JsonObject } from '../../../api/meta/merge-patch.ts';
import type { KindStore } from '../../registry/kind-store.ts';
import type { KindStores } from '../../registry/kind-stores.ts';
import { shownEntries } from '../../registry/stored-versions.ts';
import { type Entry, labelsOf } from '../../watch/entry.ts';
import type { AdmissionAttributes } from '../dynamic.ts';

/** Objects with parameters that a binding may choose by labels. */
const MOST_PARAMS = 100;

/** The parameters of a binding: an empty list means that the rules are not judged. */
export type Params = { readonly list: readonly (JsonObject | null | undefined)[] } | { readonly error: string };

/** Objects as JSON, by the version that a cache holds: most stay the same from one request to the next. */
export class JsonForms {
  readonly #forms = new WeakMap<Entry, JsonObject>();

  of({ kind, cache }: KindStore, entry: Entry): JsonObject {
    let json = this.#forms.get(entry);
    if (json === undefined) {
      json = toJson(kind, cache.decoder.decode(entry));
      this.#forms.set(entry, json);
    }
    return json;
  }
}

interface ParamDeps {
  readonly stores: KindStores;
  readonly forms: JsonForms;
}

/** Reads the parameters, never older than the last acknowledged write. The error is a clause: what is wrong. */
export async function readParams(
  { stores, forms }: ParamDeps,
  paramKind: ParamKind,
  ref: ParamRef | null | undefined,
  attributes: AdmissionAttributes,
): Promise<Params> {
  if (!ref) return { list: [null] };
  const store = findStore(stores, paramKind);
  if (typeof store === 'string') return { error: store };
  const { kind } = store;
  if (!kind.namespaced && ref.namespace) return { error: `paramRef.namespace must be empty: ${kind.plural} have no namespace` };
  const namespace = kind.namespaced ? ref.namespace || (attributes.kind.namespaced ? attributes.namespace : '') : '';
  if (kind.namespaced && namespace === '')
    return { error: `paramRef.namespace is needed: ${attributes.kind.plural} have no namespace to take it from` };
  await store.fresh();
  const found = await shownEntries(store, entriesOf(store, namespace, ref));
  if (found.length > MOST_PARAMS)
    return { error: `more than ${MOST_PARAMS} ${kind.plural} have the labels of paramRef.selector` };
  if (found.length > 0) return { list: found.map((entry) => forms.of(store, entry)) };
  return ref.parameterNotFoundAction === 'Allow'
    ? { list: [] }
    : {
        error: `no params found for policy binding with 'Deny' parameterNotFoundAction: make ${described(store, namespace, ref)}`,
      };
}

function findStore(stores: KindStores, { kind = '', apiVersion = '' }: ParamKind): KindStore | string {
  try {
    return stores.find({ kind, apiVersion });
  } catch (error) {
    const known = asApiError(error);
    if (!known) throw error;
    return `paramKind: ${known.message}`;
  }
}

function entriesOf(store: KindStore, namespace: string, { name, selector }: ParamRef): readonly Entry[] {
  const { cache, keyPrefix } = store;
  if (name) {
    const entry = cache.get(store.key({ namespace, name }));
    return entry ? [entry] : [];
  }
  const prefix = store.kind.namespaced ? `${keyPrefix}${namespace}/` : keyPrefix;
  const found: Entry[] = [];
  for (const entry of cache.range(prefix)) {
    if (labelSelectorMatches(selector, labelsOf(entry))) found.push(entry);
    if (found.length > MOST_PARAMS) break;
  }
  return found;
}

function described({ kind }: KindStore, namespace: string, { name }: ParamRef): string {
  const what = name ? `the ${kind.singular} "${name}"` : `a ${kind.singular} with the labels of the selector`;
  return namespace ? `${what} in namespace "${namespace}"` : what;
}
