import type { ServiceAccount, TokenRequest, TokenRequestSpec, TokenRequestStatus } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { Connection, Method } from '../connection/connection.ts';
import { createKindClient } from './kind-client.ts';
import type { CallOptions, ObjectKey, ResourceClient } from './resource-client.ts';

export interface ServiceAccountClient extends ResourceClient<ServiceAccount> {
  /**
   * A new token of an account: for the API server and an hour unless `spec` says otherwise. The server keeps no copy.
   */
  createToken(account: ObjectKey, spec?: TokenRequestSpec, call?: CallOptions): Promise<TokenRequestStatus>;
}

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
