import { unauthenticated } from '../../api/errors/index.ts';
import { type Identity, known } from './identity.ts';
import type { TokenTable } from './tokens.ts';

/** What a call brings with it. The certificate was verified against our CA by TLS; an unverified one is absent. */
export interface Credentials {
  readonly certificate: { readonly commonName: string; readonly organizations: readonly string[] } | undefined;
  /** Why the certificate that was presented does not count, if one was. */
  readonly refusedCertificate?: string | undefined;
  /** The value of the metadata `authorization`. */
  readonly authorization: string | undefined;
}

/** Before a token is read or hashed: those of service accounts have some 1,000 characters. */
const MAX_AUTHORIZATION = 16 * 1024;
const BEARER = /^Bearer +(\S+)$/i;

/**
 * Authenticates a caller. A token takes precedence over a certificate, because it was sent with this call. Throws
 * UNAUTHENTICATED.
 */
export function authenticate(credentials: Credentials, tokens: TokenTable): Identity {
  const { certificate, authorization } = credentials;
  if (authorization !== undefined) {
    if (authorization.length > MAX_AUTHORIZATION)
      throw unauthenticated(`the bearer token is too long: the server reads ${MAX_AUTHORIZATION} characters at most`);
    const token = BEARER.exec(authorization)?.[1];
    const identity = token === undefined ? undefined : tokens.find(token);
    if (!identity)
      throw unauthenticated('the bearer token is not known to this server: use the token of a user in its token file');
    return known(identity);
  }
  if (certificate?.commonName) return known({ user: certificate.commonName, groups: certificate.organizations });
  if (credentials.refusedCertificate) throw unauthenticated(credentials.refusedCertificate);
  throw unauthenticated('no credentials: present a client certificate of this cluster, or send "authorization: Bearer TOKEN"');
}
