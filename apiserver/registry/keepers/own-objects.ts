import type { Logger } from 'pino';
import { isInvalid } from '../../../api/errors/index.ts';
import type { KindName } from '../../../api/kinds/index.ts';
import { equalValues } from '../../../api/meta/equal.ts';
import type { AnyObject } from '../any-object.ts';
import { cloneObject } from '../clone-object.ts';
import { createObject } from '../create.ts';
import type { KindStore, ObjectName } from '../kind-store.ts';
import { nextVersion } from '../next-version.ts';
import type { Registry } from '../registry.ts';
import { serverContext } from '../server-context.ts';
import { Keeper } from './keeper.ts';

/** After a write, so that another writer of the objects and this server do not keep each other busy. */
const paceMs = 1_000;

/** An object as the server keeps it: its labels, and all fields but metadata. 'leave': whatever is there is right. */
export type Wanted = { readonly labels?: Readonly<Record<string, string>>; readonly fields: object } | 'none' | 'leave';

export interface OwnObject extends ObjectName {
  readonly kind: KindName;
  /** What it should be; `stored` is what it is. Complete, with all defaults, so that it can be compared. */
  wanted(stored: AnyObject | undefined): Wanted | Promise<Wanted>;
}

export interface OwnObjectsOptions {
  readonly registry: Registry;
  /** For the log: "the endpoints of the API server". */
  readonly what: string;
  readonly objects: readonly OwnObject[];
  /** Other objects on which they depend. */
  readonly dependsOn?: readonly (ObjectName & { readonly kind: KindName })[];
  readonly log: Logger;
}

/** What is to be done with a stored object. Pure. Labels that others have added stay. */
export function decideOwnObject(stored: AnyObject | undefined, wanted: Wanted): 'nothing' | 'create' | 'remove' | 'change' {
  if (wanted === 'leave') return 'nothing';
  if (stored === undefined) return wanted === 'none' ? 'nothing' : 'create';
  if (wanted === 'none' || stored.metadata?.deletionTimestamp) return 'remove';
  const { metadata: { labels = {} } = {}, ...fields } = stored;
  const isLabelled = Object.entries(wanted.labels ?? {}).every(([key, value]) => labels[key] === value);
  return isLabelled && equalValues(fields, wanted.fields) ? 'nothing' : 'change';
}

/**
 * Makes objects of the server's own before it serves, and keeps them until the signal aborts: `wake` says that they
 * should be others now. What cannot be made is logged and tried again.
 */
export async function keepOwnObjects(
  { registry, what, objects, dependsOn = [], log }: OwnObjectsOptions,
  signal: AbortSignal,
): Promise<{ readonly ended: Promise<void>; wake(): void }> {
  const keyOf = ({ kind, namespace, name }: ObjectName & { readonly kind: KindName }): string => `${kind}/${namespace}/${name}`;
  const byKey = new Map(objects.filter(({ kind }) => registry.stores.has(kind)).map((each) => [keyOf(each), each]));
  const sync = (key: string): Promise<boolean> => syncObject(registry, byKey.get(key)!);
  const sourceOf = (at: ObjectName & { readonly kind: KindName }, keys: readonly string[]) => {
    const store = registry.store(at.kind);
    const own = store.key(at);
    return { cache: store.cache, keysOf: ({ key }: { readonly key: string }) => (key === own ? keys : []) };
  };
  const keeper = new Keeper({
    ...{ what, sync, paceMs, log, all: () => byKey.keys() },
    sources: [
      ...[...byKey].map(([key, each]) => sourceOf(each, [key])),
      ...dependsOn.filter(({ kind }) => registry.stores.has(kind)).map((each) => sourceOf(each, [...byKey.keys()])),
    ],
  });
  for (const key of byKey.keys())
    await sync(key).catch((error: unknown) => log.warn({ err: error, key }, `cannot make ${what}: trying again`));
  return { ended: keeper.run(signal), wake: () => keeper.wakeAll() };
}

async function syncObject(registry: Registry, own: OwnObject): Promise<boolean> {
  const store = registry.store(own.kind);
  const at = { namespace: own.namespace, name: own.name };
  const entry = await store.read(at);
  const stored = entry && (store.cache.decoder.decode(entry) as AnyObject);
  const wanted = await own.wanted(stored);
  const step = decideOwnObject(stored, wanted);
  if (step === 'nothing' || wanted === 'leave') return false;
  if (step === 'remove' || wanted === 'none')
    await store.change(at, { context: serverContext, verb: 'delete', compute: () => 'remove' });
  else if (step === 'change') {
    try {
      await changeObject(store, at, wanted);
    } catch (error) {
      if (!isInvalid(error)) throw error;
      // What cannot change is made anew once it is away.
      await store.change(at, { context: serverContext, verb: 'delete', compute: () => 'remove' });
    }
  } else {
    const { namespace, name } = at;
    const metadata = { name, ...(namespace && { namespace }), ...(wanted.labels && { labels: { ...wanted.labels } }) };
    const take = () => cloneObject({ metadata, ...wanted.fields }) as AnyObject;
    await createObject(store, registry.admission, { ...serverContext, take });
  }
  return true;
}

async function changeObject(store: KindStore, at: ObjectName, { labels, fields }: Exclude<Wanted, string>): Promise<void> {
  const compute = (previous: AnyObject): AnyObject => {
    const metadata = { ...previous.metadata, labels: { ...previous.metadata?.labels, ...labels } };
    return nextVersion(store, 'object', cloneObject({ metadata, ...fields }) as AnyObject, previous);
  };
  await store.change(at, { context: serverContext, verb: 'update', compute });
}
