import { toJson } from '../../api/codec/json.ts';
import { decodeMessage } from '../../api/codec/message.ts';
import {
  type ApiError,
  badRequest,
  type FieldViolation,
  invalid,
  isAlreadyExists,
  isNotFound,
  otherUid,
  unimplemented,
} from '../../api/errors/index.ts';
import type { DeleteOptions, PatchRequest, WriteOptions } from '../../api/generated/types.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { isTextTooDeep } from '../../api/meta/json-depth.ts';
import type { Admission } from '../admission/admission.ts';
import type { Access, AccessVerb } from '../authz/attributes.ts';
import { noteRequester } from '../pki/requester.ts';
import type { AnyObject } from '../registry/any-object.ts';
import { type Creation, createFrom, createObject } from '../registry/create.ts';
import { decodeObject } from '../registry/decode.ts';
import { deleteObject } from '../registry/delete.ts';
import type { KindStore, ObjectName } from '../registry/kind-store.ts';
import { nameOf, writeTargetOf } from '../registry/next-version.ts';
import { otherPlaceText } from '../registry/other-place.ts';
import { type PatchInput, patchObject } from '../registry/patch.ts';
import { isLenient } from '../registry/prune.ts';
import { decodeNew } from '../registry/repeated-specs.ts';
import { formOf, isScale, patchScale, updateScale } from '../registry/scale.ts';
import type { StoreResult } from '../registry/store-values.ts';
import { asStored, servedBytes, servedKind, versionWarnings } from '../registry/store-version.ts';
import { shownBytes } from '../registry/stored-versions.ts';
import { updateObject, updateStatus, updateSubresource } from '../registry/update.ts';
import type { CallContext } from './call-context.ts';
import { AuthorizedWrite, deleteWriteOptions, fieldValidationOf } from './call-write.ts';
import { checkName } from './check-name.ts';
import type { ObjectForm } from './object-format.ts';
import type { PreparedCall } from './prepared-call.ts';
import type { DeleteWriteRequest, PatchWriteRequest, WriteRequest } from './write-request.ts';

/** A write of one object that was decoded and authorized. */
export interface PreparedWrite extends PreparedCall<StoreResult> {
  readonly store: KindStore;
  /** What it is about; a name that is still to be generated is empty. */
  readonly at: ObjectName;
  run(): Promise<StoreResult>;
}

interface Written {
  readonly store: KindStore;
  readonly options: WriteOptions | undefined;
  readonly form?: ObjectForm | undefined;
}

/** What all writes of one object share. */
export abstract class StandardWrite extends AuthorizedWrite implements PreparedWrite {
  readonly store: KindStore;
  readonly #form: ObjectForm | undefined;

  constructor({ store, options, form }: Written, access: Access, call: CallContext) {
    super(access, options, call);
    this.store = store;
    this.#form = form;
  }

  get at(): ObjectName {
    return this.access;
  }

  run(): Promise<StoreResult> {
    const done = this.carryOut();
    return this.#form || this.audited?.wantsResponse ? this.#answer(done) : done;
  }

  protected abstract carryOut(): Promise<StoreResult>;

  /** The answer in the form that was asked for; the audit log hears of it, where it wants to. */
  async #answer(done: Promise<StoreResult>): Promise<StoreResult> {
    const { bytes: stored, warnings, form, isRemoved, isCreated = false } = await done;
    const bytes = form || !this.store.versions.of ? stored : await shownBytes(this.store, stored, this.store.key(this.at));
    const kind = form ?? this.store.kind;
    if (this.audited?.wantsResponse) this.audited.response(toJson(kind, decodeMessage<ApiObject>(kind.message, bytes)));
    if (!this.#form) return { bytes, warnings };
    const told = [...versionWarnings(this.store), ...warnings];
    if (form) return { bytes: this.#form.encode(form, bytes), warnings: told };
    const shown = this.#form.encode(servedKind(this.store), servedBytes(this.store, bytes), isRemoved);
    return { bytes: shown, warnings: told, isCreated };
  }
}

/** A create, or an update of an object, its status or another subresource. */
export class ObjectWrite extends StandardWrite implements Creation {
  readonly #request: WriteRequest;
  readonly #admission: Admission;
  readonly leftOut: readonly FieldViolation[] | undefined;
  /** Until it is taken: nothing decoded is kept while the disk is waited for. */
  #sent: AnyObject | undefined;

  constructor(request: WriteRequest, admission: Admission, call: CallContext) {
    const verb = accessVerbOf(request);
    const leftOut = isLenient(request.options) ? [] : undefined;
    const sent = readSent(request, leftOut);
    super(request, { verb, ...request.store.asked, ...nameOf(sent) }, call);
    this.#request = request;
    this.leftOut = leftOut;
    this.#admission = admission;
    if (this.audited?.wantsRequest) this.audited.request(toJson(formOf(request.store, request.subresource), sent));
    if (verb === 'create') this.#checkNew(sent);
    this.#sent = sent;
  }

  take(): AnyObject {
    const taken = this.#sent ?? this.#checkNew(this.#readAgain());
    this.#sent = undefined;
    return taken;
  }

  checkNew(object: AnyObject): void {
    this.#checkNew(object);
  }

  admitChange(next: AnyObject, previous: AnyObject): Promise<void> | undefined {
    return this.#admission.update?.(this.store.kind, next, previous);
  }

  protected carryOut(): Promise<StoreResult> {
    const { verb, store, subresource, isPut } = this.#request;
    if (verb === 'create') return createObject(store, this.#admission, this);
    if (isPut && store.kind.isCreatedByPut) return this.#updateOrCreate();
    const sent = this.take();
    if (verb === 'updateStatus' || subresource === 'status') return updateStatus(store, sent, this);
    if (isScale(store, subresource)) return updateScale(store, sent, this);
    return subresource === '' ? updateObject(store, sent, this) : updateSubresource(store, subresource, sent, this);
  }

  /**
   * As Kubernetes does: a missing object is made as a create makes it, which needs the right to create as well. One
   * that names a uid means the object that had it.
   */
  async #updateOrCreate(): Promise<StoreResult> {
    const { store, access } = this;
    const { uid } = this.#sent?.metadata ?? {};
    for (let attempt = 1; ; attempt++) {
      try {
        return await updateObject(store, attempt === 1 ? this.take() : this.#readAgain(), this);
      } catch (error) {
        if (!isNotFound(error)) throw error;
        if (uid) throw otherUid(store.subject(access), undefined, uid);
      }
      this.caller.authorize({ ...access, verb: 'create' });
      try {
        const creation = { context: this, take: () => this.#checkNew(withoutVersion(this.#readAgain())) };
        return { ...(await createFrom(store, this.#admission, creation)), isCreated: true };
      } catch (error) {
        if (!isAlreadyExists(error) || attempt >= PUT_ATTEMPTS) throw error;
      }
    }
  }

  #readAgain(): AnyObject {
    return readSent(this.#request, this.leftOut && []);
  }

  #checkNew(object: AnyObject): AnyObject {
    const access = { ...this.access, verb: 'create' as const };
    return checkNewObject(this.store, access, object, this.caller);
  }
}

/** Another client may make the object between the two steps of a PUT, and take it away again. */
const PUT_ATTEMPTS = 4;

function withoutVersion(object: AnyObject): AnyObject {
  if (object.metadata) delete object.metadata.resourceVersion;
  return object;
}

/** Authorizes what a create stores, and completes it by what the server knows of the caller. */
export function checkNewObject(store: KindStore, access: Access, object: AnyObject, call: CallContext): AnyObject {
  const { authorizer, identity } = call;
  const { kind, id, served } = store;
  authorizer.authorizeCreate(identity, access, object);
  const violations = served?.conversion?.validateNew(object) ?? [];
  if (violations.length > 0) throw invalid(store.subject(access), violations);
  noteRequester(id, object, identity);
  if (kind.isCreatedWithStatus && object.status !== undefined) {
    const { namespace, name } = access;
    if (!authorizer.may(identity, { verb: 'update-status', ...store.asked, namespace, name })) delete object.status;
  }
  return object;
}

/** Throws for a subresource that the verb or the kind does not have. */
function accessVerbOf({ verb, store, subresource }: WriteRequest): AccessVerb {
  if (subresource !== '' && verb !== 'update')
    throw badRequest(`a subresource is updated or patched: "${subresource}" is of no use here`);
  if (subresource !== '' && !isScale(store, subresource)) writeTargetOf(store, subresource);
  if (verb === 'updateStatus' && !store.kind.hasStatus)
    throw unimplemented(`${store.kind.plural} have no status subresource: use Update`);
  if (verb === 'updateStatus') return 'update-status';
  return subresource === '' ? verb : `update-${subresource}`;
}

function readSent(request: WriteRequest, leftOut?: FieldViolation[]): AnyObject {
  const { verb, store, object: bytes, format, namespace, subresource, at, options, namesKind, interpret } = request;
  const isOfScale = isScale(store, subresource);
  const kind = isOfScale ? formOf(store, subresource) : servedKind(store);
  const fieldValidation = fieldValidationOf(options?.fieldValidation);
  const reading = { fieldValidation, leftOut, namesKind, interpret };
  const isNew = verb === 'create' && format === 'protobuf';
  const read: AnyObject = isNew && !store.served ? decodeNew(store, bytes, reading) : decodeObject(kind, bytes, format, reading);
  const object = isOfScale ? read : asStored(store, read);
  if (namespace && store.kind.namespaced && !object.metadata?.namespace) object.metadata = { ...object.metadata, namespace };
  if (!at) return object;
  if (at.name && !object.metadata?.name) object.metadata = { ...object.metadata, name: at.name };
  for (const key of ['name', 'namespace'] as const) {
    const said = object.metadata?.[key] ?? '';
    if (at[key] && said !== at[key]) throw otherPlace(key, said, at[key]);
  }
  return object;
}

/** The object says another name or namespace than the request. */
export function otherPlace(key: 'name' | 'namespace', said: string, asked: string): ApiError {
  const text = `the ${key} of the object, "${said}", does not match that of the request, "${asked}"`;
  return badRequest(text, [], { of: 'text', message: otherPlaceText(key, said, asked) });
}

/** What a patch asks permission for. Throws for a subresource that the kind does not have. */
export function patchAccess(store: KindStore, request: PatchRequest): Access {
  const { subresource = '' } = request;
  const at = checkName(store, request);
  if (subresource === 'status' && !store.kind.hasStatus) throw unimplemented(`${store.kind.plural} have no status subresource`);
  if (!isScale(store, subresource)) writeTargetOf(store, subresource);
  return { verb: subresource === '' ? 'patch' : `patch-${subresource}`, ...store.asked, ...at };
}

export class PatchWrite extends StandardWrite {
  readonly #input: PatchInput;
  readonly #admission: Admission;

  constructor({ store, patch: request, form }: PatchWriteRequest, admission: Admission, call: CallContext) {
    const { type = '', patch = Buffer.alloc(0), subresource = '', options } = request;
    const access = patchAccess(store, request);
    super({ store, options, form }, access, call);
    if (options?.force) throw badRequest('force may be given for a server-side apply only: other patches know no conflicts');
    const at = { namespace: access.namespace, name: access.name };
    this.#input = { at, type, patch, subresource };
    this.#admission = admission;
    if (this.audited?.wantsRequest) this.audited.request(auditedPatch(patch));
  }

  admitChange(next: AnyObject, previous: AnyObject): Promise<void> | undefined {
    return this.#admission.update?.(this.store.kind, next, previous);
  }

  protected carryOut(): Promise<StoreResult> {
    const patch = isScale(this.store, this.#input.subresource) ? patchScale : patchObject;
    return patch(this.store, this.#input, this);
  }
}

/** A patch as the audit log has it. */
export function auditedPatch(patch: Uint8Array): unknown {
  const text = Buffer.from(patch).toString('utf8');
  if (isTextTooDeep(patch)) return text;
  try {
    return JSON.parse(text);
  } catch {
    // The request is refused; the audit log still records what was sent.
    return text;
  }
}

export class DeleteWrite extends StandardWrite {
  readonly #options: DeleteOptions;

  constructor({ store, delete: request, form }: DeleteWriteRequest, call: CallContext) {
    const at = checkName(store, request);
    const { options = {} } = request;
    super({ store, options: deleteWriteOptions(options), form }, { verb: 'delete', ...store.asked, ...at }, call);
    this.#options = options;
    if (this.audited?.wantsRequest) this.audited.request(options);
  }

  protected carryOut(): Promise<StoreResult> {
    return deleteObject(this.store, this.at, this.#options, this);
  }
}
