import { isDeepStrictEqual } from 'node:util';
import { type ApiError, invalid } from '../../../api/errors/index.ts';
import { forbidden } from '../../../api/errors/violations.ts';
import type { ParamKind, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from '../../../api/generated/types.ts';
import { groupOf } from '../../../api/kinds/identity.ts';
import type { ApiObject } from '../../../api/kinds/kind.ts';
import type { Access, Attributes } from '../attributes.ts';

/** The authorizer's data about a user that writes an admission policy, or a binding of one. */
export interface ParamQuestions {
  readonly user: string;
  readonly allows: (attributes: Attributes) => boolean;
  /** The plural name of a kind; undefined for one that is not served. */
  readonly pluralOf: (paramKind: ParamKind) => string | undefined;
  readonly policyOf: (name: string) => ValidatingAdmissionPolicy | undefined;
}

/**
 * Prevents that messages of rules show a user parameters that it may not read: as in Kubernetes the writer of a policy
 * may get all objects of its paramKind, and that of a binding those that its paramRef means. `previous` is undefined on
 * create. Throws INVALID_ARGUMENT.
 */
export function checkParamChange(ask: ParamQuestions, access: Access, next: ApiObject, previous: ApiObject | undefined): void {
  if (access.kind === 'ValidatingAdmissionPolicy') checkPolicy(ask, access, next, previous);
  if (access.kind === 'ValidatingAdmissionPolicyBinding') checkBinding(ask, access, next, previous);
}

function checkPolicy(
  ask: ParamQuestions,
  access: Access,
  { spec = {} }: ValidatingAdmissionPolicy,
  previous: ValidatingAdmissionPolicy | undefined,
): void {
  const { paramKind } = spec;
  if (!paramKind || isDeepStrictEqual(paramKind, previous?.spec?.paramKind)) return;
  if (ask.allows({ ...resourceOf(ask, paramKind), namespace: '', name: '' })) return;
  const { kind, apiVersion } = paramKind;
  const what = `all objects of the referenced paramKind (kind=${kind}, apiVersion=${apiVersion})`;
  throw refusal(access, 'spec.paramKind', `user "${ask.user}" must have "get" permission on ${what}`);
}

function checkBinding(
  ask: ParamQuestions,
  access: Access,
  { spec = {} }: ValidatingAdmissionPolicyBinding,
  previous: ValidatingAdmissionPolicyBinding | undefined,
): void {
  const { paramRef, policyName = '' } = spec;
  const { paramRef: before, policyName: policyBefore } = previous?.spec ?? {};
  if (!paramRef || (isDeepStrictEqual(paramRef, before) && policyName === policyBefore)) return;
  const { namespace = '', name = '' } = paramRef;
  if (ask.allows({ ...resourceOf(ask, ask.policyOf(policyName)?.spec?.paramKind), namespace, name })) return;
  const why = `user "${ask.user}" does not have "get" permission on the object referenced by paramRef`;
  throw refusal(access, 'spec.paramRef', why);
}

/** What is not known means all: a policy may come later than its binding, and a kind later than both. */
function resourceOf(ask: ParamQuestions, paramKind: ParamKind | undefined) {
  const { apiVersion = '' } = paramKind ?? {};
  const resource = paramKind && ask.pluralOf(paramKind);
  return { verb: 'get', group: paramKind ? groupOf(apiVersion) : '*', resource: resource ?? '*', subresource: '' };
}

const refusal = ({ kind, name }: Access, field: string, why: string): ApiError =>
  invalid({ kind, name }, [forbidden(field, why)]);
