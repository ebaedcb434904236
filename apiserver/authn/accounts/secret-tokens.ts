import type { Logger } from 'pino';
import { isInvalid } from '../../../api/errors/index.ts';
import type { Secret, ServiceAccount } from '../../../api/generated/types.ts';
import {
  accountAnnotation,
  accountTokenKeys,
  accountTokenType,
  accountUidAnnotation,
} from '../../../api/kinds/secret/account-token.ts';
import type { AnyObject } from '../../registry/any-object.ts';
import { deleteObject } from '../../registry/delete.ts';
import { Keeper } from '../../registry/keepers/keeper.ts';
import { KeyIndex } from '../../registry/key-index.ts';
import type { KindStore, ObjectName } from '../../registry/kind-store.ts';
import { nextVersion } from '../../registry/next-version.ts';
import { serverContext } from '../../registry/server-context.ts';
import { type StorageClock, systemStorageClock } from '../../storage/clock.ts';
import { type Entry, placeOf } from '../../watch/entry.ts';
import { signSecretToken } from './account-tokens.ts';
import type { TokenKeys } from './token-keys.ts';

export interface SecretTokensOptions {
  readonly secrets: KindStore;
  readonly accounts: KindStore;
  readonly keys: TokenKeys;
  /** The certificates (PEM) that clients of this server trust; `observe` tells of changes. */
  readonly authorities: { trusted(): string; observe(observer: () => void): () => void };
  readonly clock?: StorageClock;
  readonly log: Logger;
}

/** Tokens that are signed and written at once. */
const workers = 4;

/** What a Secret of an account's token needs, with the account that is there now. */
export function decideSecret(
  secret: Secret,
  account: ServiceAccount | undefined,
  authorities: string,
): 'nothing' | 'remove' | 'fill' {
  const { metadata, data = {}, immutable } = secret;
  if (secret.type !== accountTokenType || metadata?.deletionTimestamp) return 'nothing';
  const meant = metadata?.annotations?.[accountUidAnnotation];
  const uid = account?.metadata?.uid;
  if (uid === undefined || (meant && meant !== uid)) return 'remove';
  if (immutable) return 'nothing';
  const { token, namespace, authorities: ca } = accountTokenKeys;
  const isFull = data[token]?.length && data[namespace]?.length && data[ca]?.toString() === authorities;
  return isFull && meant === uid ? 'nothing' : 'fill';
}

/**
 * Puts tokens into Secrets of type kubernetes.io/service-account-token, and deletes those whose account is gone, as
 * Kubernetes' controller of tokens does, until the signal aborts. It runs in the API server, which has the keys that
 * sign.
 */
export async function runSecretTokens(options: SecretTokensOptions, signal: AbortSignal): Promise<void> {
  const { secrets, accounts, authorities, clock, log } = options;
  const ofAccounts = new KeyIndex(secrets.cache, (entry) => accountsOf(secrets, entry));
  const leave = ofAccounts.observe();
  const keeper = new Keeper({
    what: 'the tokens of service accounts in Secrets',
    sources: [
      { cache: secrets.cache, keysOf: (entry) => (accountsOf(secrets, entry).length > 0 ? [entry.key] : []) },
      { cache: accounts.cache, keysOf: ({ key }) => ofAccounts.of(nameOf(placeOf(key))) },
    ],
    all: () => ofAccounts.keys(),
    sync: (key) => syncSecret(options, placeOf(key)),
    ...{ workers, clock, log },
  });
  const end = authorities.observe(() => keeper.wakeAll());
  await keeper.run(signal).finally(() => {
    end();
    leave();
  });
}

/** The account whose token a Secret is to hold, as "namespace/name"; none of other Secrets. */
function accountsOf({ cache }: KindStore, entry: Entry): string[] {
  const secret = cache.decoder.decode(entry) as Secret;
  return secret.type === accountTokenType ? [nameOf({ ...placeOf(entry.key), name: accountNameOf(secret) })] : [];
}

async function syncSecret(options: SecretTokensOptions, at: ObjectName): Promise<boolean> {
  const { secrets, accounts, authorities, log } = options;
  const entry = await secrets.read(at);
  if (!entry) return false;
  const secret = secrets.cache.decoder.decode(entry) as Secret;
  const owner = await accounts.read({ namespace: at.namespace, name: accountNameOf(secret) });
  const account = owner && (accounts.cache.decoder.decode(owner) as ServiceAccount);
  const plan = decideSecret(secret, account, authorities.trusted());
  if (plan === 'remove') {
    const { uid = '' } = secret.metadata ?? {};
    await deleteObject(secrets, at, { preconditions: { uid } }, serverContext);
    log.info({ secret: at, account: accountNameOf(secret) }, 'deleted a secret whose service account does not exist');
    return true;
  }
  if (plan === 'nothing' || !account) return false;
  try {
    await fillSecret(options, at, account);
    return true;
  } catch (error) {
    if (!isInvalid(error)) throw error;
    log.warn({ err: error, secret: at }, 'a secret has no room for the token of its service account');
    return false;
  }
}

async function fillSecret(
  { secrets, keys, authorities, clock = systemStorageClock }: SecretTokensOptions,
  at: ObjectName,
  account: ServiceAccount,
): Promise<void> {
  const { name = '', uid = '' } = account.metadata ?? {};
  const token = await signSecretToken(keys, at, { name, uid }, new Date(clock.now()));
  const compute = (previous: AnyObject): AnyObject => {
    const present = previous as Secret;
    if (decideSecret(present, account, authorities.trusted()) !== 'fill') return previous;
    return nextVersion(secrets, 'object', filled(present, { token, uid }, authorities.trusted()) as AnyObject, previous);
  };
  await secrets.change(at, { context: serverContext, verb: 'update', compute });
}

/** The Secret with what it lacks; a token that is there stays. */
function filled(
  { metadata, data = {}, ...secret }: Secret,
  { token, uid }: { readonly token: string; readonly uid: string },
  authorities: string,
): Secret {
  const keys = accountTokenKeys;
  const { namespace = '' } = metadata ?? {};
  return {
    ...secret,
    metadata: { ...metadata, annotations: { ...metadata?.annotations, [accountUidAnnotation]: uid } },
    data: {
      ...data,
      ...(!data[keys.token]?.length && { [keys.token]: Buffer.from(token) }),
      ...(!data[keys.namespace]?.length && { [keys.namespace]: Buffer.from(namespace) }),
      [keys.authorities]: Buffer.from(authorities),
    },
  };
}

const accountNameOf = ({ metadata }: Secret): string => metadata?.annotations?.[accountAnnotation] ?? '';

const nameOf = ({ namespace, name }: ObjectName): string => `${namespace}/${name}`;
