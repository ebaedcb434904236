import type { CertificateSigningRequest } from '../../api/generated/types.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import type { Identity } from '../authn/identity.ts';

/** Sets the requester of a new CertificateSigningRequest: approvers rely on it, so clients cannot set it. */
export function noteRequester(kind: string, object: ApiObject, { user, groups }: Identity): void {
  if (kind !== 'CertificateSigningRequest') return;
  const request = object as CertificateSigningRequest;
  const { uid: _, extra: __, ...spec } = request.spec ?? {};
  request.spec = { ...spec, username: user, groups: [...groups] };
}
