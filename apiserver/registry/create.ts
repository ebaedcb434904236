import { alreadyExists, type FieldViolation, invalid, isAlreadyExists } from '../../api/errors/index.ts';
import type { ManagedFieldsEntry, Timestamp } from '../../api/generated/types.ts';
import { validateConditions } from '../../api/kinds/conditions.ts';
import { isCustom } from '../../api/kinds/custom/custom-kind.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { finalizerWarnings } from '../../api/kinds/metadata.ts';
import type { Admission } from '../admission/admission.ts';
import { judgeOf, mutateNew, validateNew } from './admit.ts';
import type { AnyObject } from './any-object.ts';
import { creatorEntry, recordsManagers } from './apply/managed-fields.ts';
import { cloneObject } from './clone-object.ts';
import type { KindStore, ObjectName } from './kind-store.ts';
import type { Planned } from './ledgers/ledger.ts';
import { beginsGenerations, metadataForCreate, validateNewMetadata } from './metadata.ts';
import { pruneSent } from './prune.ts';
import type { RepeatedSpec } from './repeated-specs.ts';
import type { NewObject, StoreResult } from './store-values.ts';
import type { WriteContext } from './write-context.ts';

/** A generated name that is taken is drawn again so often; with 27^5 names for each prefix, more would not help. */
const NAME_ATTEMPTS = 8;

/** A create: its writer, and what was sent. */
export interface Creation extends WriteContext {
  /** The object that was sent, for one attempt, which completes it. */
  take(): AnyObject;
}

/** Where a new object comes from. */
export interface NewObjectSource {
  readonly context: WriteContext;
  /** See Creation. */
  take(): AnyObject;
  /** The managed fields of the object; absent: its creator owns all of it. */
  managers?(time: Timestamp): ManagedFieldsEntry[];
}

/** A new object as it will be stored. */
interface Prepared extends NewObject {
  readonly warnings: readonly string[];
  /** The name was drawn, and another may be. */
  readonly isGenerated: boolean;
}

/** Creates an object; one with a generated name in several attempts if need be, each from what was sent. */
export function createObject(store: KindStore, admission: Admission, creation: Creation): Promise<StoreResult> {
  return createFrom(store, admission, { context: creation, take: () => creation.take() });
}

/** The same, of another source. */
export async function createFrom(store: KindStore, admission: Admission, source: NewObjectSource): Promise<StoreResult> {
  const { context } = source;
  for (let attempt = 1; ; attempt++) {
    const prepared = await prepare(store, admission, source, context.dryRun);
    try {
      if (store.cache.get(store.key(prepared.at))) await refuseExisting(store, prepared.at);
      return { bytes: await store.insert(prepared, context), warnings: prepared.warnings };
    } catch (error) {
      if (!prepared.isGenerated || !isAlreadyExists(error) || attempt >= NAME_ATTEMPTS) throw error;
    } finally {
      prepared.allotted?.cancel();
    }
  }
}

/** What a create would store, also when an object of that name is there. Throws what a create would. */
export async function imagineObject(store: KindStore, admission: Admission, creation: Creation): Promise<StoreResult> {
  const prepared = await prepare(store, admission, { context: creation, take: () => creation.take() }, true);
  return { bytes: store.imagine(prepared, creation), warnings: prepared.warnings };
}

/**
 * The order of the steps is fixed: warnings first, so that they speak of what the client wrote; then metadata, because
 * all later steps may look at names; defaults before lifecycle and admission, which may rely on them; validation behind
 * these, because it judges what will be stored; then what is held until the write has ended, and last the rules that
 * users added, which see the object as it will be stored.
 */
async function prepare(store: KindStore, admission: Admission, source: NewObjectSource, dryRun: boolean): Promise<Prepared> {
  const { kind } = store;
  const sent = source.take();
  const repeated = takeRepeated(store, sent, source.context);
  const told = repeated?.warnings ?? (isCustom(kind) ? finalizerWarnings(sent.metadata) : (kind.warnings?.(sent) ?? []));
  const warnings = [...told, ...pruneSent(store, sent, source.context)];
  const { name = '', generateName = '' } = sent.metadata ?? {};
  const metadata = metadataForCreate(sent.metadata ?? {}, beginsGenerations(kind), store.origin());
  sent.metadata = metadata;
  if (kind.hasStatus && !kind.isCreatedWithStatus) delete sent.status;
  const at = { namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
  if (!repeated) kind.defaults(sent);
  kind.lifecycle?.prepareForCreate?.(sent);
  const { object, violations } = await admitNew({ store, admission, warnings }, sent, source.context);
  const judged = repeated?.judged(object.spec);
  if (!judged) violations.push(...kind.validate(object), ...(kind.validateCreate?.(object) ?? []));
  if (kind.isCreatedWithStatus) violations.push(...validateConditions(object.status, kind.conditionsNeed));
  if (violations.length > 0) throw invalid(store.subject({ ...at, name: at.name || generateName }), violations);
  const managers = newManagers(kind, source, metadata.creationTimestamp!);
  if (managers.length > 0) object.metadata = Object.assign(object.metadata ?? {}, { managedFields: managers });
  const awaitsDisk = kind.awaitsDisk?.(object, undefined) ?? false;
  const allotted = store.allot(at, object, dryRun);
  if (judgeOf(store, source.context)) await validateAllotted(store, { object, allotted }, source.context);
  const demand = store.demandOf(object);
  const isGenerated = name === '' && generateName !== '';
  const known = judged && repeated?.encode(judged, object);
  const encoded = known?.bytes ?? store.stored(object);
  const bytes = encoded instanceof Promise ? await encodedOf(encoded, allotted) : encoded;
  if (!judged) repeated?.learn(object, bytes);
  return { at, bytes, elements: known?.elements, warnings, awaitsDisk, demand, allotted, isGenerated };
}

/**
 * What is known of the spec of a new object, which gets its completed form. The rules of users may change any part of
 * an object, which then shares nothing.
 */
function takeRepeated(store: KindStore, sent: AnyObject, context: WriteContext): RepeatedSpec | undefined {
  const repeated = store.specs?.of(sent.spec);
  if (!repeated) return undefined;
  const isOwn = judgeOf(store, context) !== undefined;
  sent.spec = isOwn ? cloneObject(repeated.sent) : repeated.complete();
  return isOwn ? undefined : repeated;
}

/** What was allotted is given back where the object cannot be stored. */
async function encodedOf(encoded: Promise<Buffer>, allotted: Planned | undefined): Promise<Buffer> {
  try {
    return await encoded;
  } catch (error) {
    allotted?.cancel();
    throw error;
  }
}

interface Admitting {
  readonly store: KindStore;
  readonly admission: Admission;
  readonly warnings: string[];
}

/** The object as the admission leaves it, and what is wrong with its metadata. */
async function admitNew(
  { store, admission, warnings }: Admitting,
  object: AnyObject,
  context: WriteContext,
): Promise<{ readonly object: AnyObject; readonly violations: FieldViolation[] }> {
  const { kind } = store;
  const warn = (text: string): void => {
    if (!warnings.includes(text)) warnings.push(text);
  };
  const violations: FieldViolation[] = [...validateNewMetadata(kind, object.metadata ?? {})];
  if (violations.length > 0) return { object, violations };
  const judging = admission.create(kind, object, warn);
  if (judging) await judging;
  const changed = judgeOf(store, context) && (await mutateNew(store, object, context));
  if (!changed) return { object, violations };
  kind.defaults(changed);
  violations.push(...validateNewMetadata(kind, changed.metadata ?? {}));
  // What the caller was permitted, and the built-in admission allowed and completed, was another object.
  context.checkNew?.(changed);
  await admission.create(kind, changed, warn);
  return { object: changed, violations };
}

/** Judges the object with what it was allotted, which is given back when it is refused. */
async function validateAllotted(
  store: KindStore,
  { object, allotted }: { readonly object: AnyObject; readonly allotted: Planned | undefined },
  context: WriteContext,
): Promise<void> {
  try {
    await validateNew(store, object, context);
  } catch (error) {
    allotted?.cancel();
    throw error;
  }
}

function newManagers(kind: Kind, { context, managers }: NewObjectSource, time: Timestamp): ManagedFieldsEntry[] {
  if (managers) return managers(time);
  return recordsManagers(kind) ? [creatorEntry(kind, context.manager, time)] : [];
}

/** The cache may be behind; only what the newest state shows is an answer. */
async function refuseExisting(store: KindStore, at: ObjectName): Promise<void> {
  if (await store.read(at)) throw alreadyExists(store.subject(at));
}
