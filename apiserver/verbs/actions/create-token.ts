import { encodeMessage } from '../../../api/codec/message.ts';
import { badRequest, unimplemented } from '../../../api/errors/index.ts';
import type { TokenRequest } from '../../../api/generated/types.ts';
import { checkNodeToken } from '../../authz/node/node-tokens.ts';
import type { Action } from './action.ts';

const body = {
  ...{ kind: 'TokenRequest', apiVersions: ['authentication.k8s.io/v1'], message: 'berth.authentication.v1.TokenRequest' },
  confidential: true,
} as const;

/** ServiceAccounts.CreateToken: answers the request with a token in its status. */
export const createToken = {
  of: 'ServiceAccount',
  method: 'CreateToken',
  access: 'create-token',
  body,
  answer: 'body',
  prepare({ object }, { accounts }, call) {
    const { namespace = '', name = '' } = object.metadata ?? {};
    if (!accounts) throw unimplemented('this server makes no tokens');
    if (namespace === '' || name === '') throw badRequest('name the service account and its namespace');
    const spec = object.spec ?? {};
    return {
      async run() {
        const status = await accounts.create({ namespace, name }, spec, (pod) => checkNodeToken(call.identity, spec, pod));
        return { bytes: encodeMessage(body.message, { ...object, status }) };
      },
    };
  },
} as const satisfies Action<TokenRequest>;
