import { encodeMessage } from '../../../api/codec/message.ts';
import { badRequest, unimplemented } from '../../../api/errors/index.ts';
import type { TokenRequest } from '../../../api/generated/types.ts';
import { usualSeconds, withAudiences } from '../../authn/accounts/account-tokens.ts';
import { checkNodeToken } from '../../authz/node/node-tokens.ts';
import { admitSubresource } from '../../registry/admit.ts';
import { CallWrite } from '../call-write.ts';
import type { Action } from './action.ts';

const VERSION = 'authentication.k8s.io/v1';
const body = {
  ...{ kind: 'TokenRequest', apiVersions: [VERSION], message: 'berth.authentication.v1.TokenRequest' },
  confidential: true,
} as const;

const form = { apiVersion: VERSION, kind: body.kind, message: body.message };

/** ServiceAccounts.CreateToken: answers the request with a token in its status. */
export const createToken = {
  of: 'ServiceAccount',
  method: 'CreateToken',
  access: 'create-token',
  body,
  answer: 'body',
  prepare({ object, options }, { accounts, registry }, call) {
    const { namespace = '', name = '' } = object.metadata ?? {};
    if (!accounts) throw unimplemented('this server makes no tokens');
    if (namespace === '' || name === '') throw badRequest('name the service account and its namespace');
    const at = { namespace, name };
    const store = registry.store('ServiceAccount');
    const write = new CallWrite(options, call);
    return {
      async run() {
        const asked = { ...object, spec: { ...object.spec, expirationSeconds: object.spec?.expirationSeconds ?? usualSeconds } };
        const admitted = await admitSubresource(store, at, { subresource: 'token', form, object: asked }, write);
        const { spec = {} } = admitted;
        const status = await accounts.create(at, spec, (pod) => checkNodeToken(call.identity, spec, pod));
        return { bytes: encodeMessage(body.message, { ...admitted, spec: withAudiences(spec), status }) };
      },
    };
  },
} as const satisfies Action<TokenRequest>;
