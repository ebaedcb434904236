import { timingSafeEqual } from 'node:crypto';
import { ApiError } from '../../api/errors/index.ts';
import type { Secret } from '../../api/generated/types.ts';
import { parseTokenText, readBootstrapToken } from '../../api/kinds/secret/bootstrap-token.ts';
import type { Entry } from '../watch/entry.ts';
import type { KindCache } from '../watch/kind-cache.ts';
import { bootstrapUser, groups, type Identity } from './identity.ts';
import { hashToken, type TokenTable } from './tokens.ts';

interface Row {
  readonly id: string;
  readonly hash: Buffer;
  readonly expiresAt: number | undefined;
}

/** Compared with instead of a row that is not there, so that it takes as long. */
const nothing = Buffer.alloc(32);

/**
 * The tokens with which machines join, kept incrementally from the watch cache of Secrets. A caller with one is
 * system:bootstrap:ID of the group system:bootstrappers. Only hashes of the tokens are kept.
 */
export class BootstrapTokens implements TokenTable {
  readonly #cache: KindCache;
  readonly #now: () => Date;
  readonly #rows = new Map<string, Row>();
  readonly #idOfKey = new Map<string, string>();

  constructor(cache: KindCache, now: () => Date) {
    this.#cache = cache;
    this.#now = now;
  }

  /** Begins to follow the cache; the returned function ends it. */
  observe(): () => void {
    return this.#cache.observe({
      reset: (entries) => {
        this.#rows.clear();
        this.#idOfKey.clear();
        for (const entry of entries) this.#cache.attempt(entry.key, () => this.#put(entry));
      },
      event: ({ type, entry }) => {
        this.#drop(entry.key);
        if (type !== 'DELETED') this.#put(entry);
      },
    });
  }

  /** Throws UNAUTHENTICATED for an expired token, which only its holder can learn. */
  find(token: string): Identity | undefined {
    const parts = parseTokenText(token);
    if (parts === undefined) return undefined;
    const row = this.#rows.get(parts.id);
    const isSame = timingSafeEqual(row?.hash ?? nothing, hashToken(parts.secret));
    if (row === undefined || !isSame) return undefined;
    const { id, expiresAt } = row;
    if (expiresAt !== undefined && expiresAt <= this.#now().getTime())
      throw new ApiError(
        'UNAUTHENTICATED',
        'TokenExpired',
        `the join token ${id} expired at ${new Date(expiresAt).toISOString()}: make a new one with "berth token create"`,
      );
    return { user: bootstrapUser(id), groups: [groups.bootstrappers] };
  }

  #put(entry: Entry): void {
    const token = readBootstrapToken(this.#cache.decoder.decode(entry) as Secret);
    if (!token?.authenticates) return;
    this.#rows.set(token.id, { id: token.id, hash: hashToken(token.secret), expiresAt: token.expiresAt });
    this.#idOfKey.set(entry.key, token.id);
  }

  #drop(key: string): void {
    const id = this.#idOfKey.get(key);
    if (id !== undefined) this.#rows.delete(id);
    this.#idOfKey.delete(key);
  }
}

/** Several tables as one: the first that knows the token. */
export function anyOf(tables: readonly TokenTable[]): TokenTable {
  return {
    find(token) {
      for (const table of tables) {
        const found = table.find(token);
        if (found) return found;
      }
      return undefined;
    },
  };
}
