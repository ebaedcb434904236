import { badRequest } from '../../api/errors/index.ts';
import type { TokenRequest } from '../../api/generated/types.ts';
import type { AccountTokens } from '../authn/accounts/account-tokens.ts';
import { checkNodeToken } from '../authz/node/node-tokens.ts';
import type { CallContext } from './call-context.ts';

/** Prepares ServiceAccounts.CreateToken: `run` gives the request with the token in its status. */
export function prepareToken(tokens: AccountTokens, object: TokenRequest, call: CallContext): { run(): Promise<TokenRequest> } {
  const { namespace = '', name = '' } = object.metadata ?? {};
  call.authorize({ verb: 'create-token', kind: 'ServiceAccount', namespace, name });
  if (namespace === '' || name === '') throw badRequest('name the service account and its namespace');
  const spec = object.spec ?? {};
  return {
    run: async () => {
      const status = await tokens.create({ namespace, name }, spec, (pod) => checkNodeToken(call.identity, spec, pod));
      return { ...object, status };
    },
  };
}
