import { checkServerIdentity } from 'node:tls';
import * as grpc from '@grpc/grpc-js';
import { badRequest } from '../../api/errors/index.ts';
import type { ConnectOptions } from './connect-options.ts';
import { hostOf, sentName } from './server-name.ts';

/** The channel options that go with `createCredentials`. */
export function serverName(address: string): grpc.ChannelOptions {
  const host = hostOf(address);
  return sentName(host) === host ? {} : { 'grpc.ssl_target_name_override': sentName(host) };
}

/**
 * TLS with the given CA only, and a client certificate or a bearer token.
 * Throws INVALID_ARGUMENT for what cannot be read.
 */
export function createCredentials({ address, ca, cert, key, token }: ConnectOptions): grpc.ChannelCredentials {
  if ((cert === undefined) !== (key === undefined))
    throw badRequest(`connect to ${address}: a client certificate needs its key, and the other way round`);
  const host = hostOf(address);
  const pem = (text: string | undefined) => (text === undefined ? null : Buffer.from(text));
  let channel: grpc.ChannelCredentials;
  try {
    channel = grpc.credentials.createSsl(Buffer.from(ca), pem(key), pem(cert), {
      checkServerIdentity: (_sent, certificate) => checkServerIdentity(host, certificate),
    });
  } catch (cause) {
    throw badRequest(`connect to ${address}: the certificates cannot be read: ${(cause as Error).message}`);
  }
  return token === undefined ? channel : grpc.credentials.combineChannelCredentials(channel, bearer(token));
}

function bearer(token: string | (() => string)): grpc.CallCredentials {
  return grpc.credentials.createFromMetadataGenerator((_context, callback) => {
    const metadata = new grpc.Metadata();
    metadata.set('authorization', `Bearer ${typeof token === 'string' ? token : token().trim()}`);
    callback(null, metadata);
  });
}
