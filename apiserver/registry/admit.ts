import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import { SCALE, scaleKind, scaleOf } from '../../api/kinds/scale.ts';
import type { AdmissionAttributes, AdmittedCall, ConvertObjects, DynamicAdmission, RequestForm } from '../admission/dynamic.ts';
import type { AnyObject } from './any-object.ts';
import { cloneObject } from './clone-object.ts';
import { type KindRules, nextVersion, writeTargetOf } from './next-version.ts';
import type { ObjectName } from './store-values.ts';
import type { StoredVersions } from './stored-versions.ts';
import type { ChangeOptions, Current, WriteContext } from './write-context.ts';

// Where writes pass the dynamic admission: policies and webhooks. The server's own writes do not.

/** What is needed of the store of a write. */
interface JudgedStore extends KindRules {
  readonly served?: Kind | undefined;
  readonly dynamic: DynamicAdmission | undefined;
  readonly versions: { readonly of?: StoredVersions };
  /** Throws ABORTED when a change names another version than the current one. */
  checkVersion(at: ObjectName, current: Current, named: string | undefined): void;
}

interface Judge {
  readonly dynamic: DynamicAdmission;
  readonly call: AdmittedCall;
}

/** Undefined when there is nothing to pass: then a write costs nothing more. */
export function judgeOf({ dynamic, kind }: JudgedStore, { admitted: call }: WriteContext): Judge | undefined {
  return dynamic && call && !dynamic.isIdleFor(kind) ? { dynamic, call } : undefined;
}

/** What is written, beside its writer. */
type Subject = Pick<AdmissionAttributes, 'operation' | 'subresource' | 'form' | 'object' | 'previous'>;

function attributesOf(store: JudgedStore, at: ObjectName, subject: Subject, context: WriteContext): AdmissionAttributes {
  const { manager, dryRun, admitted } = context;
  const { kind, served } = store;
  const requested = served && { requested: served.apiVersion };
  const { of } = store.versions;
  const convert: ConvertObjects | undefined = of?.mayWait ? (objects, versions) => of.converted(objects, versions) : undefined;
  return { ...subject, kind, ...requested, convert, namespace: at.namespace, name: at.name, manager, dryRun, call: admitted! };
}

/** A new object as the rules change it; undefined when none does. What the server sets of it stays. */
export async function mutateNew(store: JudgedStore, object: AnyObject, context: WriteContext): Promise<AnyObject | undefined> {
  const judge = judgeOf(store, context);
  const changed = await judge?.dynamic.mutate(newAttributes(store, object, context));
  if (!changed || !judge) return undefined;
  const { kind } = store;
  const next = changed as AnyObject;
  const { uid, name, namespace, generateName, creationTimestamp, generation } = object.metadata ?? {};
  const { labels, annotations, ownerReferences, finalizers, resourceVersion } = next.metadata ?? {};
  const own = { uid, name, namespace, generateName, creationTimestamp, generation };
  const all = { ...own, labels, annotations, ownerReferences, finalizers, resourceVersion };
  next.metadata = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  if (kind.hasStatus && !kind.isCreatedWithStatus) {
    delete next.status;
    if (object.status !== undefined) next.status = object.status;
  }
  return next;
}

/** Judges a new object as it will be stored. */
export async function validateNew(store: JudgedStore, object: AnyObject, context: WriteContext): Promise<void> {
  await judgeOf(store, context)?.dynamic.validate(newAttributes(store, object, context));
}

function newAttributes(store: JudgedStore, object: AnyObject, context: WriteContext): AdmissionAttributes {
  const { namespace = '', name = '' } = object.metadata ?? {};
  const subject = { operation: 'CREATE', subresource: '', form: store.kind, object, previous: undefined } as const;
  return attributesOf(store, { namespace, name }, subject, context);
}

/** What a call creates below an object: a Binding, an Eviction, a TokenRequest. */
interface Subobject<T extends ApiObject> {
  readonly subresource: string;
  readonly form: RequestForm;
  readonly object: T;
}

/** Judges it, and returns it as the rules change it. Its name stays. */
export async function admitSubresource<T extends ApiObject>(
  store: JudgedStore,
  at: ObjectName,
  { subresource, form, object }: Subobject<T>,
  context: WriteContext,
): Promise<T> {
  const judge = judgeOf(store, context);
  if (!judge) return object;
  const subject = { operation: 'CREATE', subresource, form, object, previous: undefined } as const;
  const attributes = attributesOf(store, at, subject, context);
  const changed = (await judge.dynamic.mutate(attributes)) as T | undefined;
  const next = changed ? { ...changed, metadata: { ...changed.metadata, ...at } } : object;
  await judge.dynamic.validate({ ...attributes, object: next });
  return next;
}

/** What a change makes of one version of the object. Throws why it is refused. */
export async function judgeChange(
  store: JudgedStore,
  at: ObjectName,
  { current, previous }: { readonly current: Current; readonly previous: AnyObject },
  options: ChangeOptions,
): Promise<AnyObject | 'remove'> {
  const { context, resourceVersion, compute } = options;
  // Before the version is compared: the refusal names it.
  context.authorizeChange?.(previous);
  store.checkVersion(at, current, resourceVersion);
  const next = await compute(previous, current);
  if (next !== 'remove') {
    context.authorizeNext?.(next, previous);
    await context.admitChange?.(next, previous);
  }
  const judge = judgeOf(store, context);
  return judge && !options.isAdmitted ? admitChange(store, at, { judge, next, previous }, options) : next;
}

interface JudgedChange {
  readonly judge: Judge;
  readonly next: AnyObject | 'remove';
  readonly previous: AnyObject;
}

/** A change as the rules leave it: changed by them, validated again where they did, and judged. */
async function admitChange(
  store: JudgedStore,
  at: ObjectName,
  { judge: { dynamic }, next, previous }: JudgedChange,
  { verb, context }: ChangeOptions,
): Promise<AnyObject | 'remove'> {
  const attributes = (subject: Subject) => attributesOf(store, at, subject, context);
  if (verb === 'delete' || next === 'remove') {
    const deletion = attributes({ operation: 'DELETE', subresource: '', form: store.kind, object: undefined, previous });
    await dynamic.mutate(deletion);
    await dynamic.validate(deletion);
    return next;
  }
  const subresource = subresourceOf(verb);
  const isScale = subresource === SCALE;
  const shown = (each: AnyObject): ApiObject => (isScale ? scaleOf(scalingOf(store), each) : each);
  const form: RequestForm = isScale ? (scaleKind as Kind) : store.kind;
  const update = { operation: 'UPDATE', subresource, form, object: shown(next), previous: shown(previous) } as const;
  const changed = await dynamic.mutate(attributes(update));
  if (!changed) {
    await dynamic.validate(attributes(update));
    return next;
  }
  const final = completed(store, { subresource, changed: changed as AnyObject }, { next, previous });
  context.authorizeNext?.(final, previous);
  await context.admitChange?.(final, previous);
  await dynamic.validate(attributes({ ...update, object: shown(final) }));
  return final;
}

/** The next version with what rules changed of it, validated as every other. */
function completed(
  store: JudgedStore,
  { subresource, changed }: { readonly subresource: string; readonly changed: AnyObject },
  { next, previous }: { readonly next: AnyObject; readonly previous: AnyObject },
): AnyObject {
  if (subresource === 'finalize') return changed;
  if (subresource !== SCALE) return nextVersion(store, writeTargetOf(store, subresource), changed, previous);
  const scaled = cloneObject(next);
  scalingOf(store).scale.write(scaled, (changed as { spec?: { replicas?: number } }).spec?.replicas ?? 0);
  return nextVersion(store, 'object', scaled, previous);
}

function scalingOf({ kind }: JudgedStore): { readonly scale: NonNullable<Kind<AnyObject>['scale']> } {
  return { scale: kind.scale as NonNullable<Kind<AnyObject>['scale']> };
}

/** The part of the object that a verb of the store changes: "patch-status" the status. */
function subresourceOf(verb: string): string {
  const dash = verb.indexOf('-');
  return dash < 0 ? (verb === 'finalize' ? verb : '') : verb.slice(dash + 1);
}
