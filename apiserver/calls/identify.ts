import type { TLSSocket } from 'node:tls';
import { unauthenticated } from '../../api/errors/index.ts';
import { authenticate, type Credentials } from '../authn/authenticate.ts';
import { type Identity, isBootstrapper, serviceAccountOf } from '../authn/identity.ts';
import type { TokenTable } from '../authn/tokens.ts';
import { flowOf } from '../limits/levels.ts';
import type { ClientCertificates } from '../pki/client-certificates.ts';

/** What holds a connection's identity while it lasts: the session of HTTP/2, or the socket of HTTP/1.1. */
type ConnectionKey = object;

/** A connection, as far as its caller is concerned. */
export interface CallerConnection {
  /** Absent: nothing is remembered. */
  readonly key: ConnectionKey | undefined;
  readonly socket: Partial<TLSSocket> | undefined;
}

/** The identity of a connection, determined once; a connection's certificate never changes. */
const identities = new WeakMap<ConnectionKey, Identity>();
const certificates = new WeakMap<ConnectionKey, Presented>();
/**
 * A connection's last token and its identity: hashing the token for each call costs more than the rest of the pipeline.
 * It is compared only with tokens from the same connection, so timing reveals nothing about others.
 */
const shown = new WeakMap<ConnectionKey, { authorization: string; tokens: TokenTable; identity: Identity }>();
/** Connections that are authenticated per call, because their credentials may expire first. */
const judgedByCall = new WeakSet<ConnectionKey>();

/** Whether a connection has authenticated; it may be outdated. */
export function isIdentified({ key, socket }: CallerConnection): boolean {
  if (key && (identities.has(key) || shown.has(key) || judgedByCall.has(key))) return true;
  return socket?.authorized === true && socket.getPeerCertificate?.()?.subject !== undefined;
}

/** The flow of the caller that a connection has authenticated, if any. */
export function flowOfConnection(key: ConnectionKey): string | undefined {
  const identity = identities.get(key) ?? shown.get(key)?.identity;
  return identity && flowOf(identity).key;
}

interface Presented {
  /** Undefined: none that counts. */
  readonly certificate: Credentials['certificate'];
  /** In ms since 1970. TLS looks at it when a connection begins; this one may outlive it. */
  readonly endsAt: number;
  /** DER. */
  readonly raw: Buffer | undefined;
}

function presentedOn({ key, socket }: CallerConnection): Presented {
  const known = key && certificates.get(key);
  if (known) return known;
  const { subject, valid_to: end, raw } = (socket?.authorized ? socket.getPeerCertificate?.() : undefined) ?? {};
  // A subject may hold several O, which Node gives as an array.
  const organizations = [subject?.O ?? []].flat() as string[];
  const certificate = subject?.CN === undefined ? undefined : { commonName: String(subject.CN), organizations };
  const presented = { certificate, endsAt: end === undefined ? Number.POSITIVE_INFINITY : Date.parse(end), raw };
  if (key) certificates.set(key, presented);
  return presented;
}

/** What is wrong with the certificate that the peer presented; undefined when it presented none. */
function refusalOf(socket: Partial<TLSSocket> | undefined): string | undefined {
  const presented = socket?.getPeerCertificate?.();
  if (!socket?.authorizationError || !presented?.subject) return undefined;
  const named = `the client certificate of "${[presented.subject.CN].flat().join()}"`;
  // Node gives the code of OpenSSL, whatever its types say.
  const code = String(socket.authorizationError);
  if (code === 'CERT_HAS_EXPIRED') return `${named} expired on ${presented.valid_to}: get a new one`;
  if (code === 'CERT_NOT_YET_VALID') return `${named} is not valid before ${presented.valid_from}: look at the clocks`;
  return `${named} does not count here (${code}): present one that this cluster's authority signed`;
}

/** The caller's identity; `clients` is notified of each connection with a certificate. Throws UNAUTHENTICATED. */
export function identify(
  connection: CallerConnection,
  authorization: string | undefined,
  tokens: TokenTable,
  clients?: ClientCertificates,
): Identity {
  const { key, socket } = connection;
  const known = key && shown.get(key);
  if (known && known.authorization === authorization && known.tokens === tokens) return known.identity;
  const { certificate, endsAt, raw } = presentedOn(connection);
  if (authorization === undefined && certificate && endsAt <= Date.now())
    throw unauthenticated(
      `the client certificate of "${certificate.commonName}" expired on ${new Date(endsAt).toISOString()}: connect with a new one`,
    );
  const first = authorization === undefined && key ? identities.get(key) : undefined;
  if (first) return first;
  const refusedCertificate = certificate || authorization !== undefined ? undefined : refusalOf(socket);
  const identity = authenticate({ certificate, refusedCertificate, authorization }, tokens);
  if (key && authorization === undefined) {
    identities.set(key, identity);
    clients?.note({ user: identity.user, raw, endsAt });
  }
  // Tokens for joining, and those of service accounts, end while connections stay.
  if (key && authorization !== undefined) {
    if (isBootstrapper(identity) || serviceAccountOf(identity.user)) judgedByCall.add(key);
    else shown.set(key, { authorization, tokens, identity });
  }
  return identity;
}
