import { alreadyExists, type FieldViolation, invalid, isAlreadyExists } from '../../api/errors/index.ts';
import type { Admission } from '../admission/admission.ts';
import type { AnyObject } from './any-object.ts';
import type { KindStore, StoreResult, WriteContext } from './kind-store.ts';
import { creatorEntry, recordsManagers } from './managed-fields.ts';
import { metadataForCreate, validateNewMetadata } from './metadata.ts';

/** A generated name that is taken is drawn again so often; with 27^5 names for each prefix, more would not help. */
const NAME_ATTEMPTS = 8;

/** A new object as the client sent it. Each attempt to create it changes its own. */
export interface SentObject {
  readonly object: AnyObject;
  /** The object once more. */
  readonly again: () => AnyObject;
}

/**
 * Creates an object. The order of the steps is fixed: warnings first, so that they speak of what the client wrote; then
 * metadata, because all later steps may look at names; defaults before lifecycle and admission, which may rely on them; validation
 * last, because it judges what will be stored.
 */
export async function createObject(
  store: KindStore,
  admission: Admission,
  sent: SentObject,
  context: WriteContext,
): Promise<StoreResult> {
  const { name, generateName } = sent.object.metadata ?? {};
  for (let attempt = 1; ; attempt++) {
    try {
      return await createOnce(store, admission, attempt === 1 ? sent.object : sent.again(), context);
    } catch (error) {
      if (name || !generateName || !isAlreadyExists(error) || attempt >= NAME_ATTEMPTS) throw error;
    }
  }
}

async function createOnce(
  store: KindStore,
  admission: Admission,
  object: AnyObject,
  context: WriteContext,
): Promise<StoreResult> {
  const { kind } = store;
  const warnings = kind.warnings?.(object) ?? [];
  object.metadata = metadataForCreate(object.metadata ?? {}, store.hasSpec, store.origin());
  if (kind.hasStatus) delete object.status;
  const at = { namespace: object.metadata.namespace ?? '', name: object.metadata.name ?? '' };
  kind.defaults(object);
  kind.lifecycle?.prepareForCreate?.(object);
  const violations: FieldViolation[] = [...validateNewMetadata(kind, object.metadata)];
  if (violations.length === 0) await admission.create(kind, object);
  violations.push(...kind.validate(object));
  if (violations.length > 0)
    throw invalid(store.subject({ ...at, name: at.name || (object.metadata.generateName ?? '') }), violations);
  if (recordsManagers(kind))
    object.metadata.managedFields = [creatorEntry(kind, context.manager, object.metadata.creationTimestamp!)];
  if (store.cache.get(store.key(at))) await refuseExisting(store, at);
  return { bytes: await store.insert(at, object, context), warnings };
}

/** The cache may be behind; only what the newest state shows is an answer. */
async function refuseExisting(store: KindStore, at: { namespace: string; name: string }): Promise<void> {
  if (await store.read(at)) throw alreadyExists(store.subject(at));
}
