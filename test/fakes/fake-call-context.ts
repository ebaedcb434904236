import type { Authorizer } from '../../apiserver/authz/authorizer.ts';
import { flowOf } from '../../apiserver/limits/levels.ts';
import type { CallContext } from '../../apiserver/verbs/call-context.ts';

const admin = { user: 'admin', groups: ['system:masters'] };

/** A call of an administrator, unless told otherwise. */
export function fakeCall(parts: Partial<CallContext> = {}): CallContext {
  return {
    identity: admin,
    flow: flowOf(parts.identity ?? admin),
    authorize: () => {},
    authorizePath: () => {},
    authorizeNode: () => {},
    authorized: true,
    warn: () => {},
    authorizer: {} as Authorizer,
    manager: 'm',
    requestId: 'r',
    signal: new AbortController().signal,
    isCancelled: false,
    whenTaken: () => {},
    ...parts,
  };
}
