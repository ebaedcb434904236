import { randomUUID, timingSafeEqual } from 'node:crypto';
import { type ApiError, badRequest, invalid, notFound, unauthenticated } from '../../../api/errors/index.ts';
import { invalidValue } from '../../../api/errors/violations.ts';
import type { Pod, Secret, TokenRequestSpec, TokenRequestStatus } from '../../../api/generated/types.ts';
import type { ApiObject } from '../../../api/kinds/kind.ts';
import { accountTokenKeys, accountTokenType } from '../../../api/kinds/secret/account-token.ts';
import { secondsTimestamp, toMillis } from '../../../api/meta/time.ts';
import type { KindStore, ObjectName } from '../../registry/kind-store.ts';
import { groups, type Identity, known, serviceAccountUser } from '../identity.ts';
import { hashToken, type TokenTable } from '../tokens.ts';
import { type BoundStores, boundClaims } from './bound-objects.ts';
import { type BoundClaims, isJsonWebToken, type NamedObject, readToken, signToken, type TokenClaims } from './json-web-token.ts';
import { MAX_TOKEN_SECONDS, type TokenKeys } from './token-keys.ts';

/** The issuer, and the audience of the API server: Kubernetes' value, which programs expect. */
export const TOKEN_ISSUER = 'https://kubernetes.default.svc.cluster.local';

const LEAST_SECONDS = 600;
/** Of a token whose request says nothing else. */
export const usualSeconds = 3_600;
const MAX_AUDIENCES = 16;
/** Clocks of several servers differ. */
const EARLY_SECONDS = 60;
/** What is being deleted may end its work with its token. */
const LEAVING_MS = 60_000;
/** Cached tokens with a verified signature; verification costs 0.1 ms. */
const MAX_CHECKED = 1_000;

export interface AccountTokensOptions extends BoundStores {
  readonly keys: TokenKeys;
  readonly accounts: KindStore;
  readonly now: () => Date;
}

/** A request with the audience of the API server, where it names none. */
export const withAudiences = (spec: TokenRequestSpec): TokenRequestSpec =>
  spec.audiences?.length ? spec : { ...spec, audiences: [TOKEN_ISSUER] };

/** The account of a token, and the matching audiences. */
export interface ReviewedToken {
  readonly identity: Identity;
  readonly audiences: readonly string[];
}

interface Checked {
  readonly claims: TokenClaims;
  readonly identity: Identity;
}

/**
 * Tokens of service accounts: makes them, and knows whose they are. A signature is checked once; whether the token has
 * ended, and whether its account and what it is bound to are still there, is looked up in the watch caches with each
 * call, so a token ends when one of them is deleted.
 */
export class AccountTokens implements TokenTable {
  readonly #options: AccountTokensOptions;
  readonly #checked = new Map<string, Checked>();

  constructor(options: AccountTokensOptions) {
    this.#options = options;
  }

  /** Undefined for any other token. Throws UNAUTHENTICATED with the reason for one that is invalid or has expired. */
  find(token: string): Identity | undefined {
    return this.review(token, [TOKEN_ISSUER])?.identity;
  }

  /** Reviews a token for other audiences: gives those of `audiences` that it is for, at least one. Throws as `find`. */
  review(token: string, audiences: readonly string[]): ReviewedToken | undefined {
    if (!isJsonWebToken(token)) return undefined;
    const { claims, identity } = this.#checked.get(token) ?? this.#check(token);
    const own = audiences.filter((audience) => claims.aud.includes(audience));
    if (own.length === 0) throw refused(`it is for ${claims.aud.join(', ')}, not for ${wordsFor(audiences)}`);
    this.#judge(claims, token);
    return { identity, audiences: own };
  }

  /**
   * A new token. `judge` is shown the pod that it is bound to, if any, and throws when the caller may not have it.
   * Throws NOT_FOUND without the account or what it is bound to, and INVALID_ARGUMENT for an unsupported spec.
   */
  async create(
    account: ObjectName,
    spec: TokenRequestSpec,
    judge: (pod: Pod | undefined) => void = () => {},
  ): Promise<TokenRequestStatus> {
    const { keys, accounts, now } = this.#options;
    const entry = await accounts.read(account);
    if (!entry) throw notFound(accounts.subject(account));
    const seconds = spec.expirationSeconds ?? usualSeconds;
    const violations = [
      ...(seconds >= LEAST_SECONDS && seconds <= MAX_TOKEN_SECONDS
        ? []
        : [invalidValue('spec.expirationSeconds', seconds, `must be between ${LEAST_SECONDS} and ${MAX_TOKEN_SECONDS}`)]),
    ];
    if (violations.length > 0) throw invalid({ kind: 'TokenRequest', ...account }, violations);
    const { audiences = [] } = withAudiences(spec);
    if (audiences.length > MAX_AUDIENCES || audiences.includes('')) throw badRequest(`name 1 to ${MAX_AUDIENCES} audiences`);
    if (!spec.boundObjectRef) judge(undefined);
    const bound = spec.boundObjectRef && (await boundClaims(this.#options, account, spec.boundObjectRef, judge));
    const { uid = '' } = accounts.cache.decoder.decode(entry).metadata ?? {};
    const iat = Math.floor(now().getTime() / 1_000);
    const claims: TokenClaims = {
      ...{ iss: TOKEN_ISSUER, sub: serviceAccountUser(account.namespace, account.name), aud: audiences },
      ...{ exp: iat + seconds, iat, nbf: iat, jti: randomUUID() },
      'kubernetes.io': {
        namespace: account.namespace,
        serviceaccount: { name: account.name, uid },
        ...bound,
      },
    };
    const token = signToken(claims, await keys.signing(now().getTime()));
    return { token, expirationTimestamp: secondsTimestamp(new Date((iat + seconds) * 1_000)) };
  }

  /** The signature, and what never changes. */
  #check(token: string): Checked {
    const { keys, now } = this.#options;
    const claims = readToken(token, (id) => keys.find(id, now().getTime()));
    if (typeof claims === 'string') throw refused(claims);
    const { namespace, serviceaccount } = claims['kubernetes.io'];
    if (claims.iss !== TOKEN_ISSUER) throw refused('another cluster made it');
    const own = [groups.serviceAccounts, `${groups.serviceAccounts}:${namespace}`];
    const user = serviceAccountUser(namespace, serviceaccount.name);
    const identity = known({ user, groups: own, uid: serviceaccount.uid, extra: extraOf(claims) });
    const checked = { claims, identity };
    if (this.#checked.size >= MAX_CHECKED) this.#checked.clear();
    this.#checked.set(token, checked);
    return checked;
  }

  /** What may change from one call to the next. */
  #judge({ exp, nbf, 'kubernetes.io': { namespace, serviceaccount, ...bound } }: TokenClaims, token: string): void {
    const { accounts, now } = this.#options;
    const { secret } = bound;
    const seconds = now().getTime() / 1_000;
    if (exp === undefined && !secret) throw refused('it says neither when it ends nor which secret holds it');
    if (exp !== undefined && seconds >= exp)
      throw refused(`it ended at ${new Date(exp * 1_000).toISOString()}: make a new one with "berth create token"`);
    if (seconds < nbf - EARLY_SECONDS) throw refused('it is not good yet: look at the clocks');
    if (!this.#isThere(accounts, { namespace, name: serviceaccount.name }, serviceaccount.uid))
      throw refused(`the service account "${namespace}/${serviceaccount.name}" that it is of does not exist any more`);
    if (exp === undefined && secret) this.#judgeSecret({ namespace, name: secret.name }, token);
    else this.#judgeBound(namespace, bound);
  }

  /** In a token for a pod, the node is information: the token does not end with it. */
  #judgeBound(namespace: string, { pod, secret, node }: BoundClaims): void {
    const { pods, secrets, nodes } = this.#options;
    const gone = (what: string): ApiError => refused(`the ${what} that it is bound to does not exist any more`);
    if (pod && !this.#isThere(pods, { namespace, name: pod.name }, pod.uid)) throw gone(`pod "${namespace}/${pod.name}"`);
    if (secret && !this.#isThere(secrets, { namespace, name: secret.name }, secret.uid))
      throw gone(`secret "${namespace}/${secret.name}"`);
    if (node && !pod && !this.#isThere(nodes, { namespace: '', name: node.name }, node.uid)) throw gone(`node "${node.name}"`);
  }

  /** As in Kubernetes, its Secret has to hold this very token, and ends it as soon as it is being deleted. */
  #judgeSecret(at: ObjectName, token: string): void {
    const { secrets } = this.#options;
    const entry = secrets.cache.get(secrets.key(at));
    const { metadata, type, data }: Secret = entry ? secrets.cache.decoder.decode(entry) : {};
    if (!metadata || metadata.deletionTimestamp || type !== accountTokenType)
      throw refused(`the secret "${at.namespace}/${at.name}" that it is of does not exist any more`);
    if (!timingSafeEqual(hashToken(data?.[accountTokenKeys.token]?.toString() ?? ''), hashToken(token)))
      throw refused(`the secret "${at.namespace}/${at.name}" that it is of holds another token`);
  }

  #isThere(store: KindStore, at: ObjectName, uid: string | undefined): boolean {
    const entry = store.cache.get(store.key(at));
    const { metadata }: ApiObject = entry ? store.cache.decoder.decode(entry) : {};
    if (!metadata?.uid || metadata.uid !== uid) return false;
    const { deletionTimestamp } = metadata;
    return !deletionTimestamp || this.#options.now().getTime() < toMillis(deletionTimestamp) + LEAVING_MS;
  }
}

/** The token of a Secret: it has no end, but ends with the Secret or the account. */
export async function signSecretToken(
  keys: TokenKeys,
  { namespace, name: secret }: ObjectName,
  account: NamedObject,
  now: Date,
): Promise<string> {
  const iat = Math.floor(now.getTime() / 1_000);
  const claims: TokenClaims = {
    ...{ iss: TOKEN_ISSUER, sub: serviceAccountUser(namespace, account.name), aud: [TOKEN_ISSUER] },
    ...{ iat, nbf: iat, jti: randomUUID() },
    'kubernetes.io': { namespace, serviceaccount: account, secret: { name: secret } },
  };
  return signToken(claims, await keys.signingForever(now.getTime()));
}

/** What Kubernetes says of a token beside the account; of one that a Secret holds nothing. */
function extraOf({ exp, jti, 'kubernetes.io': { pod, node } }: TokenClaims): Record<string, string[]> {
  if (exp === undefined) return {};
  const prefix = 'authentication.kubernetes.io/';
  return {
    [`${prefix}credential-id`]: [`JTI=${jti}`],
    ...(pod && { [`${prefix}pod-name`]: [pod.name], [`${prefix}pod-uid`]: [pod.uid] }),
    ...(node && { [`${prefix}node-name`]: [node.name], ...(node.uid && { [`${prefix}node-uid`]: [node.uid] }) }),
  };
}

const wordsFor = (audiences: readonly string[]): string =>
  audiences.map((each) => (each === TOKEN_ISSUER ? `the API server ("${each}")` : each)).join(', ');

function refused(why: string): ApiError {
  return unauthenticated(`the bearer token does not count: ${why}`);
}
