import type { Authorizer } from '../../apiserver/auth/authorizer.ts';
import type { CallContext } from '../../apiserver/rpc/call-context.ts';

/** A call of somebody who may do everything. */
export function fakeCall(parts: Partial<CallContext> = {}): CallContext {
  return {
    identity: { user: 'admin', groups: ['system:masters'] },
    authorize: () => {},
    authorizePath: () => {},
    authorizer: {} as Authorizer,
    manager: 'm',
    requestId: 'r',
    signal: new AbortController().signal,
    whenTaken: () => {},
    ...parts,
  };
}
