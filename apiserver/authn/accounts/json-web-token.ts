import { sign, verify } from 'node:crypto';
import type { TokenKey } from './token-keys.ts';

/** What a token of a service account says. Times in seconds. */
export interface TokenClaims {
  readonly iss: string;
  readonly sub: string;
  readonly aud: readonly string[];
  /** Absent: it does not end by itself. */
  readonly exp?: number;
  readonly iat: number;
  readonly nbf: number;
  readonly jti: string;
  readonly 'kubernetes.io': { readonly namespace: string; readonly serviceaccount: NamedObject } & BoundClaims;
}

/** What a token is bound to. It is invalid once that is deleted. */
export interface BoundClaims {
  readonly pod?: NamedObject;
  /** In a token without an end (`exp`): the Secret that holds the token, without the uid. */
  readonly secret?: MaybeUid;
  /** In a token for a pod: the pod's node, as information. */
  readonly node?: MaybeUid;
}

type MaybeUid = Pick<NamedObject, 'name'> & Partial<NamedObject>;

export interface NamedObject {
  readonly name: string;
  readonly uid: string;
}

const ALG = 'ES256';
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A JSON Web Signature in its compact form. One algorithm only; nothing in a token chooses another. */
export function signToken(claims: TokenClaims, { id, privateKey }: TokenKey): string {
  const content = `${part({ alg: ALG, kid: id, typ: 'JWT' })}.${part(claims)}`;
  const signature = sign('sha256', Buffer.from(content), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${content}.${signature.toString('base64url')}`;
}

/** Whether a text looks like a signed token, of any issuer. */
export function isJsonWebToken(text: string): boolean {
  return /^eyJ[\w-]+\.[\w-]+\.[\w-]*$/.test(text);
}

/** The claims of a token that one of the keys signed; a sentence that says what is wrong with it otherwise. */
export function readToken(text: string, keyOf: (id: string) => TokenKey | undefined): TokenClaims | string {
  const [head = '', body = '', signature = ''] = text.split('.');
  const header = parse(head) as { alg?: unknown; kid?: unknown; crit?: unknown } | undefined;
  if (header?.alg !== ALG) return `it is not signed with ${ALG}`;
  if (header.crit !== undefined) return 'its header has critical parameters (crit), which this server does not support';
  const key = typeof header.kid === 'string' ? keyOf(header.kid) : undefined;
  if (!key) return 'it is not signed with a key of this cluster';
  const options = { key: key.publicKey, dsaEncoding: 'ieee-p1363' } as const;
  if (!verify('sha256', Buffer.from(`${head}.${body}`), options, Buffer.from(signature, 'base64url')))
    return 'its signature is wrong';
  return (parse(body) as TokenClaims | undefined) ?? 'it says nothing that can be read';
}

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
