import { isIP } from 'node:net';
import type { SecureContext, TLSSocket } from 'node:tls';
import { badRequest } from '../../api/errors/index.ts';
import type { ConnectOptions } from './connect-options.ts';
import { hostOf } from './server-name.ts';

/** Loaded with the first connection: a short command over a local socket does without. */
const tls = () => process.getBuiltinModule('node:tls');
/** Of an address that names no port. */
const httpsPort = 443;

/** What a connection trusts and shows. Throws INVALID_ARGUMENT for certificates that cannot be read. */
export function secureContextOf({ address, ca, cert, key }: ConnectOptions): SecureContext {
  if ((cert === undefined) !== (key === undefined))
    throw badRequest(`connect to ${address}: a client certificate needs its key, and the other way round`);
  try {
    return withoutPublicAuthorities(() => tls().createSecureContext({ ca, cert, key }));
  } catch (cause) {
    throw badRequest(`connect to ${address}: the certificates cannot be read: ${(cause as Error).message}`);
  }
}

/** A connection for HTTP/2 to a server, whose certificate has to name `address`. */
export function connectTls(address: string, secureContext: SecureContext): TLSSocket {
  const host = hostOf(address);
  const { checkServerIdentity, connect } = tls();
  return connect({
    host,
    port: Number(/:(\d+)$/.exec(address)?.[1] ?? httpsPort),
    secureContext,
    ALPNProtocols: ['h2'],
    // An address is not sent (RFC 6066). No name in its place either: Node would compile the form of an IPv6 address
    // to look at it, for milliseconds.
    ...(!isIP(host) && { servername: host }),
    checkServerIdentity: (_sent, certificate) => checkServerIdentity(host, certificate),
  });
}

/**
 * Runs `create`, which makes a context with authorities of its own, without reading the public ones. Node 20 compares
 * the context's store with that of the public authorities, trusts none of them, and builds it for that alone: 35 ms of
 * processor time. Started as bin/berth does it, Node takes them from a file that this variable names; a process of a
 * client trusts no public authority anywhere. Nothing else can run before it is set back.
 */
function withoutPublicAuthorities<T>(create: () => T): T {
  const { SSL_CERT_FILE } = process.env;
  if (!process.execArgv.includes('--use-openssl-ca')) return create();
  process.env.SSL_CERT_FILE = '/dev/null';
  try {
    return create();
  } finally {
    if (SSL_CERT_FILE === undefined) delete process.env.SSL_CERT_FILE;
    else process.env.SSL_CERT_FILE = SSL_CERT_FILE;
  }
}
