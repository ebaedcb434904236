import type { ServiceAccount, TokenRequest } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { ServiceAccountClient } from '../client.ts';
import type { Connection, Method } from '../connection/connection.ts';
import { createKindClient } from './kind-client.ts';

/** The client for service accounts: the standard methods and their tokens. */
export function createServiceAccountClient(connection: Connection, kind: Kind<ServiceAccount>): ServiceAccountClient {
  const message = 'berth.authentication.v1.TokenRequest';
  const method: Method = { path: `/${kind.service}/CreateToken`, request: `${message}WriteRequest`, response: message };
  return {
    ...createKindClient(connection, kind),
    async createToken(account, spec = {}, call) {
      const { status = {} } = await connection.unary<TokenRequest>(method, { object: { metadata: account, spec } }, call);
      return status;
    },
  };
}
