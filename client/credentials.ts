import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import * as grpc from '@grpc/grpc-js';
import { badRequest } from '../api/errors/index.ts';
import type { ConnectOptions } from './client.ts';

/** TLS may not name a server by its IP address (RFC 6066), so another name is sent; the certificate is checked against the address. */
const nameForAddresses = 'localhost';

/** "127.0.0.1:7443", "[::1]:7443" or "host:7443" -> the host. */
function hostOf(address: string): string {
  return address.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
}

/** The channel options that go with `createCredentials`. */
export function serverName(address: string): grpc.ChannelOptions {
  return isIP(hostOf(address)) ? { 'grpc.ssl_target_name_override': nameForAddresses } : {};
}

/** TLS with the given CA only, and a client certificate or a bearer token. Throws INVALID_ARGUMENT for what cannot be read. */
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
