import type { SecureServerOptions } from 'node:http2';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { ServerCredentials } from '@grpc/grpc-js';
import { contextOf, defaultTls, sessionOptions, type TlsOptions, tlsContext } from '../../connections/tls.ts';
import type { ServingIdentity } from '../../pki/held-certificates.ts';

/**
 * How the server does TLS and HTTP/2. The port requests a client certificate without requiring it, so that bearer
 * tokens work as well. With credentials of our own, because those of grpc-js leave out the versions, the times and the
 * memory of a session.
 */
export class ListenerCredentials extends ServerCredentials {
  readonly #tls: SecureContextOptions;

  constructor(identity: ServingIdentity, options: Partial<TlsOptions> = {}) {
    const tls = tlsContext({ ...defaultTls, ...options });
    const server: SecureServerOptions = {
      ...sessionOptions,
      requestCert: true,
      rejectUnauthorized: false,
    };
    super(server, contextOf(identity, tls));
    this.#tls = tls;
  }

  /** Another identity for the connections to come; those that are open stay. Throws when the key does not fit. */
  swap(identity: ServingIdentity): void {
    const context = contextOf(identity, this.#tls);
    // grpc-js would log a context that cannot be used, and reject every connection.
    createSecureContext(context);
    this.updateSecureContextOptions(context);
  }

  _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}
