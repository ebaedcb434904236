import type { Secret } from '../../generated/types.ts';
import { fromRfc3339, secondsTimestamp, toMillis, toRfc3339 } from '../../meta/time.ts';
import { namespaces } from '../../meta/well-known.ts';

/** The type of secrets that are tokens with which machines join, as in Kubernetes. */
export const bootstrapTokenType = 'bootstrap.kubernetes.io/token';
const namePrefix = 'bootstrap-token-';
const form = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;

/** A token for joining: the text is ID.SECRET, of which the id is no secret. */
export interface BootstrapToken {
  readonly id: string;
  readonly secret: string;
  /** In milliseconds since 1970; undefined: never. */
  readonly expiresAt: number | undefined;
  readonly description: string;
  /** Whether it authenticates calls of the API. */
  readonly authenticates: boolean;
}

/** Undefined for a text that is no such token. */
export function parseTokenText(text: string): { readonly id: string; readonly secret: string } | undefined {
  const [, id, secret] = form.exec(text) ?? [];
  return id !== undefined && secret !== undefined ? { id, secret } : undefined;
}

export function tokenSecretName(id: string): string {
  return namePrefix + id;
}

/**
 * The token that a secret is; undefined for other secrets, and for those that lack something or stand under another's
 * name.
 */
export function readBootstrapToken({ metadata, type, data = {} }: Secret): BootstrapToken | undefined {
  if (type !== bootstrapTokenType || metadata?.namespace !== namespaces.system) return undefined;
  const text = (key: string): string => Buffer.from(data[key] ?? []).toString();
  const [id, secret, expiration] = [text('token-id'), text('token-secret'), text('expiration')];
  const end = expiration === '' ? undefined : fromRfc3339(expiration);
  const isWhole = parseTokenText(`${id}.${secret}`) !== undefined && metadata.name === tokenSecretName(id);
  if (!isWhole || (expiration !== '' && end === undefined)) return undefined;
  return {
    id,
    secret,
    expiresAt: end && toMillis(end),
    description: text('description'),
    authenticates: text('usage-bootstrap-authentication') === 'true',
  };
}

/** The secret that a token is kept as. */
export function bootstrapTokenSecret({ id, secret, expiresAt, description, authenticates }: BootstrapToken): Secret {
  const texts = {
    'token-id': id,
    'token-secret': secret,
    ...(expiresAt !== undefined && { expiration: toRfc3339(secondsTimestamp(new Date(expiresAt))) }),
    ...(description !== '' && { description }),
    'usage-bootstrap-authentication': String(authenticates),
  };
  return {
    metadata: { name: tokenSecretName(id), namespace: namespaces.system },
    type: bootstrapTokenType,
    data: Object.fromEntries(Object.entries(texts).map(([key, value]) => [key, Buffer.from(value)])),
  };
}
