import type { RotateSecretKeyResponse } from '../../api/generated/types.ts';
import type { Connection, Method } from '../connection/connection.ts';
import type { CallOptions } from './resource-client.ts';

const method: Method = {
  path: '/berth.server.v1.SecretKeys/Rotate',
  request: 'berth.server.v1.RotateSecretKeyRequest',
  response: 'berth.server.v1.RotateSecretKeyResponse',
};

/** The keys under which the API server keeps Secrets on its disk. For administrators. */
export interface SecretKeysClient {
  /** Makes a new key and writes all Secrets anew with it. ABORTED while another rotation is under way. */
  rotate(call?: CallOptions): Promise<RotateSecretKeyResponse>;
}

export function createSecretKeysClient(connection: Connection): SecretKeysClient {
  return { rotate: (call) => connection.unary<RotateSecretKeyResponse>(method, {}, call) };
}
