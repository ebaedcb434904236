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
import { Keeper } from '../../registry/keeper.ts';
import type { KindStore } from '../../registry/kind-store.ts';
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
  /** The certificates (PEM) that clients of this server trust, and who hears of others. */
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
 * Kubernetes' controller of tokens does. It sits in the API server because the key that signs does.
 */
export class SecretTokens {
  readonly #options: SecretTokensOptions;
  /** The Secrets of this type, by their account: "namespace/name". */
  readonly #secretsOf = new Map<string, Set<string>>();
  readonly #accountOf = new Map<string, string>();
  readonly #keeper: Keeper;

  constructor(options: SecretTokensOptions) {
    this.#options = options;
    const { clock = systemStorageClock, log } = options;
    this.#keeper = new Keeper({
      ...{ what: 'the tokens in Secrets of service accounts', workers, clock, log },
      // Accounts bear on Secrets too: #observe wakes it.
      sources: [],
      all: () => this.#accountOf.keys(),
      sync: (key) => this.#sync(key, new Date(clock.now())),
    });
  }

  /** Until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const ends = this.#observe();
    await this.#keeper.run(signal);
    for (const end of ends) end();
  }

  #observe(): (() => void)[] {
    const { secrets, accounts, authorities } = this.#options;
    return [
      secrets.cache.observe({
        reset: (entries) => {
          this.#secretsOf.clear();
          this.#accountOf.clear();
          for (const entry of entries) secrets.cache.attempt(entry.key, () => this.#note(entry));
        },
        event: ({ type, entry }) => {
          this.#forget(entry.key);
          if (type !== 'DELETED') this.#note(entry);
        },
      }),
      accounts.cache.observe({
        reset: () => this.#need(this.#accountOf.keys()),
        // One that was made anew has another uid.
        event: ({ type, entry }) => {
          if (type !== 'MODIFIED') this.#need(this.#secretsOf.get(nameOf(placeOf(entry.key))) ?? []);
        },
      }),
      authorities.observe(() => this.#need(this.#accountOf.keys())),
    ];
  }

  #note(entry: Entry): void {
    const secret = this.#options.secrets.cache.decoder.decode(entry) as Secret;
    if (secret.type !== accountTokenType) return;
    const account = nameOf({ ...placeOf(entry.key), name: accountNameOf(secret) });
    this.#accountOf.set(entry.key, account);
    const others = this.#secretsOf.get(account);
    if (others) others.add(entry.key);
    else this.#secretsOf.set(account, new Set([entry.key]));
    this.#need([entry.key]);
  }

  #forget(key: string): void {
    const account = this.#accountOf.get(key);
    if (account === undefined) return;
    this.#accountOf.delete(key);
    const others = this.#secretsOf.get(account);
    others?.delete(key);
    if (others?.size === 0) this.#secretsOf.delete(account);
  }

  #need(keys: Iterable<string>): void {
    for (const key of keys) this.#keeper.wake(key);
  }

  /** Whether anything was written. */
  async #sync(key: string, now: Date): Promise<boolean> {
    const { secrets, accounts, keys, authorities, log } = this.#options;
    const at = placeOf(key);
    const entry = await secrets.read(at);
    if (!entry) return false;
    const secret = secrets.cache.decoder.decode(entry) as Secret;
    const owner = await accounts.read({ namespace: at.namespace, name: accountNameOf(secret) });
    const account = owner && (accounts.cache.decoder.decode(owner) as ServiceAccount);
    const plan = decideSecret(secret, account, authorities.trusted());
    try {
      if (plan === 'remove') {
        const { uid = '' } = secret.metadata ?? {};
        await deleteObject(secrets, at, { preconditions: { uid } }, serverContext);
        log.info({ secret: at, account: accountNameOf(secret) }, 'deleted a secret whose service account does not exist');
        return true;
      }
      if (plan !== 'fill' || !account) return false;
      const { name = '', uid = '' } = account.metadata ?? {};
      const token = await signSecretToken(keys, at, { name, uid }, now);
      const compute = (previous: AnyObject): AnyObject => {
        const present = previous as Secret;
        if (decideSecret(present, account, authorities.trusted()) !== 'fill') return previous;
        return nextVersion(secrets, 'object', filled(present, { token, uid }, authorities.trusted()) as AnyObject, previous);
      };
      await secrets.change(at, { context: serverContext, verb: 'update', compute });
      return true;
    } catch (error) {
      if (!isInvalid(error)) throw error;
      log.warn({ err: error, secret: at }, 'a secret has no room for the token of its service account');
      return false;
    }
  }
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

const nameOf = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string => `${namespace}/${name}`;
