import { computeApply, type OwnedFields } from '../../../api/apply/apply.ts';
import { isUpgrade } from '../../../api/apply/client-side.ts';
import { applyConflict } from '../../../api/apply/conflicts.ts';
import type { MapType } from '../../../api/apply/field-type.ts';
import { fieldsOfConfig } from '../../../api/apply/fields-of.ts';
import {
  entriesAfterApply,
  entryId,
  type ManagerEntry,
  managedPart,
  ownedByEntries,
  withCreatorFields,
  withManager,
} from '../../../api/apply/managers.ts';
import { fromJson, messageFromJson, toJson } from '../../../api/codec/json.ts';
import { typeOfMessage } from '../../../api/codec/message-type.ts';
import { badRequest, conflict, invalid, isAlreadyExists, isNotFound, notFound } from '../../../api/errors/index.ts';
import { invalidSize } from '../../../api/errors/violations.ts';
import type { ManagedFieldsEntry, Timestamp } from '../../../api/generated/types.ts';
import { isCustom } from '../../../api/kinds/custom/custom-kind.ts';
import type { Kind } from '../../../api/kinds/kind.ts';
import { SCALE, scaleKind } from '../../../api/kinds/scale.ts';
import { equalValues } from '../../../api/meta/equal.ts';
import { isEmptySet } from '../../../api/meta/field-set.ts';
import type { JsonObject } from '../../../api/meta/merge-patch.ts';
import { secondsTimestamp, toRfc3339 } from '../../../api/meta/time.ts';
import type { Admission } from '../../admission/admission.ts';
import type { AnyObject } from '../any-object.ts';
import { cloneObject } from '../clone-object.ts';
import { createFrom } from '../create.ts';
import { checkJsonElements, mostElements } from '../kind-bounds.ts';
import type { KindStore, ObjectName } from '../kind-store.ts';
import { nextVersion, type WriteTarget } from '../next-version.ts';
import { checkIdentity } from '../patch.ts';
import { answerScale } from '../scale.ts';
import type { StoreResult } from '../store-values.ts';
import { servedKind } from '../store-version.ts';
import { checkUid } from '../update.ts';
import type { Current, WriteContext } from '../write-context.ts';
import { readConfig } from './apply-config.ts';
import { MAX_APPLIED_BYTES, recordsManagers } from './managed-fields.ts';

/** How often an apply starts again because the object came or went meanwhile. */
const MAX_ATTEMPTS = 5;
const ENTRY = 'berth.meta.v1.ManagedFieldsEntry';

export interface ApplyRequest {
  readonly at: ObjectName;
  /** The configuration, YAML or JSON. */
  readonly config: Uint8Array;
  /** "", "status" or "scale". */
  readonly subresource: string;
  readonly force: boolean;
}

/** An apply's writer, which may also create the object. */
export interface ApplyContext extends WriteContext {
  /** Throws PERMISSION_DENIED when the caller may not create this object. */
  authorizeCreation(object: AnyObject): void;
}

/** An apply that was read. */
interface Apply {
  readonly store: KindStore;
  readonly request: ApplyRequest;
  /** The document, with its apiVersion, kind and name. */
  readonly document: JsonObject;
  /** Of fields that the kind does not have. */
  readonly warnings: readonly string[];
  /** The fields that the applier is to own, as members of the object. */
  readonly config: JsonObject;
  readonly entry: ManagerEntry;
}

/**
 * Applies a configuration to an object, as Kubernetes' server-side apply does: see computeApply. Makes the object where
 * there is none. Throws ABORTED when other managers own fields that it would change, with their names and the fields.
 */
export async function applyObject(
  store: KindStore,
  admission: Admission,
  request: ApplyRequest,
  context: ApplyContext,
): Promise<StoreResult> {
  const apply = await readApply(store, request, context);
  for (let attempt = 1; ; attempt++) {
    try {
      return await changeByApply(apply, context);
    } catch (error) {
      const isMissing = isNotFound(error) && request.subresource === '' && (await store.read(request.at)) === undefined;
      if (!isMissing || attempt >= MAX_ATTEMPTS) throw error;
    }
    try {
      return await createByApply(apply, admission, context);
    } catch (error) {
      if (!isAlreadyExists(error) || attempt >= MAX_ATTEMPTS) throw error;
    }
  }
}

async function readApply(store: KindStore, request: ApplyRequest, context: WriteContext): Promise<Apply> {
  const { at, subresource } = request;
  if (subresource !== '' && subresource !== 'status' && subresource !== SCALE)
    throw badRequest(`cannot apply to the subresource "${subresource}": use a merge patch`);
  const { kind } = store;
  const form = { kind: subresource === SCALE ? (scaleKind as Kind) : servedKind(store), store, at };
  const { document, warnings } = await readConfig(form, request.config, context);
  checkIdentity(store, at, document.metadata as JsonObject);
  const entry = { manager: context.manager, operation: 'Apply', apiVersion: kind.apiVersion, fieldsType: 'FieldsV1' };
  return {
    store,
    request,
    document,
    warnings,
    config: subresource === SCALE ? replicasOf(kind, document) : managedPart(document, subresource, kind.hasStatus),
    entry: subresource === '' ? entry : { ...entry, subresource },
  };
}

/** What a Scale says of the object that is scaled. */
function replicasOf(kind: Kind, { spec }: JsonObject): JsonObject {
  const { replicas } = (spec ?? {}) as JsonObject;
  if (typeof replicas !== 'number') return {};
  const object: AnyObject = {};
  kind.scale?.write(object, replicas);
  const { apiVersion: _, kind: __, metadata: ___, ...members } = toJson(kind, object);
  return members;
}

async function changeByApply(apply: Apply, context: WriteContext): Promise<StoreResult> {
  const { store, request, document } = apply;
  const { at, subresource } = request;
  const { uid, resourceVersion } = document.metadata as { uid?: string; resourceVersion?: string };
  let warnings = apply.warnings;
  const compute = (previous: AnyObject, current: Current): AnyObject => {
    checkUid(store.subject(at), uid, previous);
    const next = appliedTo(apply, previous, current);
    if (subresource === '') warnings = [...apply.warnings, ...(store.kind.warnings?.(next) ?? [])];
    return next;
  };
  const verb = subresource === '' ? 'apply' : `apply-${subresource}`;
  const bytes = await store.change(at, { context, verb, resourceVersion, compute, setsManagers: true });
  return subresource === SCALE ? answerScale(store, bytes) : { bytes, warnings };
}

/** The next version of an object; one that is equal to the previous where neither it nor its managers change. */
function appliedTo(apply: Apply, previous: AnyObject, current: Current): AnyObject {
  const { store, request, entry } = apply;
  const { kind } = store;
  const subject = store.subject(request.at);
  const live = toJson(kind, previous);
  const nextOf = (object: JsonObject): AnyObject => {
    const merged = fromJson<AnyObject>(kind, object);
    // What a schema of before had.
    kind.prune?.(merged);
    return nextVersion(store, targetOf(request), merged, previous);
  };
  const { entries, object, owned } = decideApply(apply, live, (each) => toJson(kind, nextOf(each)));
  let [next, isChanged] = [previous, false];
  if (object !== live) {
    checkJsonElements(kind, object, subject, mostElements(kind, current.bytes));
    next = nextOf(object);
    isChanged = !equalValues({ ...next, metadata: managed(next) }, { ...previous, metadata: managed(previous) });
  }
  const after = entriesAfterApply(entries, owned, { ...entry, time: toRfc3339(secondsTimestamp(store.origin().now)) }, isChanged);
  // That the fields of a creator were spelt out is no change.
  return !isChanged && equalValues(after, entries) ? { ...previous } : withManagers(next, after, subject);
}

interface Decided {
  /** Of the live object, with a set of fields in each. */
  readonly entries: readonly ManagerEntry[];
  readonly object: JsonObject;
  readonly owned: OwnedFields;
}

/** Throws ABORTED for conflicts. `complete` gives what would be stored of an object. */
function decideApply(
  { store, request, config, entry }: Apply,
  live: JsonObject,
  complete: (object: JsonObject) => JsonObject,
): Decided {
  const { kind } = store;
  const type = typeOf(kind);
  const entries = withCreatorFields(type, recordsManagers(kind) ? withManager(live, kind.apiVersion) : live, kind.hasStatus);
  const input = { type, live, config, owned: ownedByEntries(entries), applier: entryId(entry), complete };
  let outcome = computeApply({ ...input, force: request.force });
  if (outcome.kind === 'conflicts' && isUpgrade(type, live, outcome.conflicts, entry))
    outcome = computeApply({ ...input, force: true });
  if (outcome.kind === 'conflicts') throw applyConflict(store.subject(request.at), outcome.conflicts, entries);
  return { entries, object: outcome.object, owned: outcome.owned };
}

function managed({ metadata = {} }: AnyObject): object {
  const { managedFields: _, ...rest } = metadata;
  return rest;
}

const typeOf = (kind: Kind): MapType => kind.fieldType?.() ?? typeOfMessage(kind.message);

const targetOf = ({ subresource }: ApplyRequest): WriteTarget => (subresource === 'status' ? 'status' : 'object');

function withManagers(object: AnyObject, entries: readonly ManagerEntry[], subject: ReturnType<KindStore['subject']>): AnyObject {
  const { managedFields: _, ...metadata } = object.metadata ?? {};
  if (entries.length === 0) return { ...object, metadata };
  const managedFields = entries.map((entry) => messageFromJson<ManagedFieldsEntry>(ENTRY, entry));
  const bytes = managedFields.reduce(
    (sum, each) => sum + (each.operation === 'Apply' ? (each.fieldsV1?.Raw?.length ?? 0) : 0),
    0,
  );
  if (bytes > MAX_APPLIED_BYTES)
    throw invalid(subject, [invalidSize('metadata.managedFields', MAX_APPLIED_BYTES, 'bytes of all managers that apply')]);
  return { ...object, metadata: { ...metadata, managedFields } };
}

/** Makes the object of the configuration. A resourceVersion or a uid means one that is there. */
async function createByApply(apply: Apply, admission: Admission, context: ApplyContext): Promise<StoreResult> {
  const { store, request, document, config, entry } = apply;
  const { uid, resourceVersion } = document.metadata as { uid?: string; resourceVersion?: string };
  const subject = store.subject(request.at);
  if (resourceVersion) throw notFound(subject);
  if (uid) throw conflict(subject, `there is no object with the uid ${uid}: leave it out to make a new one`);
  const managers = (time: Timestamp): ManagedFieldsEntry[] => {
    const fieldsV1 = fieldsOfConfig(typeOf(store.kind), config);
    if (isEmptySet(fieldsV1)) return [];
    return [{ ...messageFromJson<ManagedFieldsEntry>(ENTRY, { ...entry, fieldsV1 }), time }];
  };
  const take = (): AnyObject => {
    // Custom objects are the JSON itself: their defaults would count as fields of the configuration.
    const object = fromJson<AnyObject>(store.kind, isCustom(store.kind) ? cloneObject(document) : document);
    context.authorizeCreation(object);
    return object;
  };
  const { bytes, warnings } = await createFrom(store, admission, { context, take, managers });
  return { bytes, warnings: [...apply.warnings, ...warnings], isCreated: true };
}
