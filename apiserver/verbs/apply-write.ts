import { invalid } from '../../api/errors/index.ts';
import { required } from '../../api/errors/violations.ts';
import type { Admission } from '../admission/admission.ts';
import type { AnyObject } from '../registry/any-object.ts';
import { type ApplyContext, type ApplyRequest, applyObject } from '../registry/apply/apply-object.ts';
import type { StoreResult } from '../registry/store-values.ts';
import type { CallContext } from './call-context.ts';
import { auditedPatch, checkNewObject, patchAccess, StandardWrite } from './standard-writes.ts';
import type { PatchWriteRequest } from './write-request.ts';

/**
 * A server-side apply: a patch by its permission, and a create where the object is missing, which needs the permission
 * to create as well.
 */
export class ApplyWrite extends StandardWrite implements ApplyContext {
  readonly #request: ApplyRequest;
  readonly #admission: Admission;

  constructor({ store, patch: request, form }: PatchWriteRequest, admission: Admission, call: CallContext) {
    const { patch = Buffer.alloc(0), subresource = '', options } = request;
    const access = patchAccess(store, request);
    super({ store, options, form }, access, call);
    // A name that is guessed from the client would own what another program of the same name gives up.
    if (!options?.fieldManager)
      throw invalid({ kind: 'PatchOptions' }, [required('fieldManager', 'a server-side apply says who owns the fields')]);
    const at = { namespace: access.namespace, name: access.name };
    this.#request = { at, config: patch, subresource, force: options.force === true };
    this.#admission = admission;
    if (this.audited?.wantsRequest) this.audited.request(auditedPatch(patch));
  }

  authorizeCreation(object: AnyObject): void {
    const access = { ...this.access, verb: 'create' as const };
    this.caller.authorizer.authorize(this.caller.identity, access);
    this.checkNew(object);
  }

  checkNew(object: AnyObject): void {
    checkNewObject(this.store, { ...this.access, verb: 'create' }, object, this.caller);
  }

  admitChange(next: AnyObject, previous: AnyObject): Promise<void> | undefined {
    return this.#admission.update?.(this.store.kind, next, previous);
  }

  protected carryOut(): Promise<StoreResult> {
    return applyObject(this.store, this.#admission, this.#request, this);
  }
}
