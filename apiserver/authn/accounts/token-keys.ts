import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ensurePrivateDir, readIfThere, writePrivateFile } from '../../pki/files.ts';

/** The longest that a token may be good. */
export const MAX_TOKEN_SECONDS = 30 * 24 * 3_600;
/** A key signs for so long; then another one does. */
const SIGNS_MS = 90 * 24 * 3_600_000;
/** After that it is kept until the last of its tokens has ended, and a day for clocks. */
const KEPT_MS = SIGNS_MS + (MAX_TOKEN_SECONDS + 24 * 3_600) * 1_000;
const FILE = /^(\d+)\.key$/;
/** The key of tokens that do not end, which stays. */
const LASTING = 'secrets.key';

/** A key pair that signs tokens, or signed some that may still be good. */
export interface TokenKey {
  /** The thumbprint of the public key (RFC 7638). */
  readonly id: string;
  readonly madeAt: number;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** What else may be told of the public key. */
export interface PublicKeyFacts {
  readonly kty: string;
  readonly crv: string;
  readonly x: string;
  readonly y: string;
}

export function publicFacts({ publicKey }: TokenKey): PublicKeyFacts {
  const { kty = '', crv = '', x = '', y = '' } = publicKey.export({ format: 'jwk' });
  return { kty, crv, x, y };
}

/** The public keys that count at a time, as a JSON Web Key Set has them (RFC 7517). */
export function jsonWebKeys(keys: TokenKeys, now: Date) {
  return keys.list(now.getTime()).map((key) => ({ kid: key.id, ...publicFacts(key), alg: 'ES256', use: 'sig' }));
}

/**
 * The keys that sign tokens of service accounts (ECDSA P-256), each in a file that is named after the time when it was
 * made. A new one takes over after 90 days; the old one is known until its last token has ended. Tokens in Secrets have
 * no end, and so a key of their own that stays; it is made with the first of them.
 */
export class TokenKeys {
  readonly #dir: string;
  #keys: readonly TokenKey[];
  #lasting: TokenKey | undefined;
  #rotating: Promise<void> | undefined;
  #making: Promise<TokenKey> | undefined;

  private constructor(dir: string, keys: readonly TokenKey[], lasting: TokenKey | undefined) {
    this.#dir = dir;
    this.#keys = keys;
    this.#lasting = lasting;
  }

  /** Reads the keys of a folder, and makes the first. Throws for a file that is no key. */
  static async open(dir: string, now: number): Promise<TokenKeys> {
    await ensurePrivateDir(dir);
    const keys: TokenKey[] = [];
    for (const name of await readdir(dir)) {
      const madeAt = Number(FILE.exec(name)?.[1] ?? Number.NaN);
      if (!Number.isNaN(madeAt)) keys.push(readKey(await readFile(join(dir, name), 'utf8'), madeAt, join(dir, name)));
    }
    const text = await readIfThere(join(dir, LASTING));
    const lasting = text === undefined ? undefined : readKey(text, now, join(dir, LASTING));
    const all = new TokenKeys(dir, keys.sort(newestFirst), lasting);
    await all.#rotate(now);
    return all;
  }

  /** The keys that verify tokens at this time, the one that signs first. */
  list(now: number): readonly TokenKey[] {
    const kept = this.#kept(now);
    return this.#lasting ? [...kept, this.#lasting] : kept;
  }

  #kept(now: number): readonly TokenKey[] {
    return this.#keys.filter(({ madeAt }) => now - madeAt < KEPT_MS);
  }

  find(id: string, now: number): TokenKey | undefined {
    return this.list(now).find((key) => key.id === id);
  }

  /** The key that signs now; makes a new one when its time has come. */
  async signing(now: number): Promise<TokenKey> {
    this.#rotating ??= this.#rotate(now).finally(() => {
      this.#rotating = undefined;
    });
    await this.#rotating;
    return this.#keys[0]!;
  }

  async #rotate(now: number): Promise<void> {
    const [newest] = this.#keys;
    if (newest && now - newest.madeAt < SIGNS_MS) return;
    const text = newKey();
    // On the disk first: tokens must not outlive their key.
    try {
      await writePrivateFile(join(this.#dir, `${now}.key`), text);
    } catch (error) {
      // On a full disk the old one signs on: its tokens end before it is forgotten, for a month.
      if (!newest || now - newest.madeAt >= KEPT_MS - MAX_TOKEN_SECONDS * 1_000) throw error;
      return;
    }
    this.#keys = [readKey(text, now, this.#dir), ...this.#keys];
    for (const { madeAt } of this.#keys.filter((key) => now - key.madeAt >= KEPT_MS))
      await rm(join(this.#dir, `${madeAt}.key`), { force: true });
    this.#keys = this.#kept(now);
  }

  /** The key that signs tokens without an end; made with the first of them. */
  async signingForever(now: number): Promise<TokenKey> {
    if (this.#lasting) return this.#lasting;
    this.#making ??= this.#makeLasting(now).finally(() => {
      this.#making = undefined;
    });
    return this.#making;
  }

  async #makeLasting(now: number): Promise<TokenKey> {
    const text = newKey();
    await writePrivateFile(join(this.#dir, LASTING), text);
    this.#lasting = readKey(text, now, join(this.#dir, LASTING));
    return this.#lasting;
  }
}

function newKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
}

const newestFirst = (a: TokenKey, b: TokenKey): number => b.madeAt - a.madeAt;

function readKey(text: string, madeAt: number, path: string): TokenKey {
  try {
    const privateKey = createPrivateKey(text);
    const publicKey = createPublicKey(privateKey);
    if (privateKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1') throw new Error('it is no key of the curve P-256');
    return { id: thumbprint(publicKey), madeAt, privateKey, publicKey };
  } catch (cause) {
    throw new Error(`read ${path}: ${(cause as Error).message}; remove the file, and tokens that it signed end`, { cause });
  }
}

function thumbprint(key: KeyObject): string {
  const { crv, kty, x, y } = key.export({ format: 'jwk' });
  return createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
}
