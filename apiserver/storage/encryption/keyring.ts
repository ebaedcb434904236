import { randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ensurePrivateDir, readIfThere, writePrivateFile } from '../../pki/files.ts';
import { StorageError } from '../storage-error.ts';

/** An encryption key. Only its id may be revealed. */
export interface SealingKey {
  /** 16 hex digits. */
  readonly id: string;
  /** 32 bytes. */
  readonly secret: Buffer;
  /** RFC 3339. */
  readonly createdAt: string;
}

/**
 * The encryption keys of an installation: values are encrypted with the current key, and decrypted with the key that
 * they name.
 */
export interface Keyring {
  readonly current: SealingKey;
  /** All of them by id, the current one too. */
  readonly keys: ReadonlyMap<string, SealingKey>;
}

/** Where it lies in the data directory. */
export const keyringPath = 'secret-keys/keyring.json';

const format = 1;
const secretBytes = 32;
/** More are a sign of something that rotates without end. */
export const mostKeys = 1_000;

/**
 * Reads the keys of a data directory; undefined when there are none. Throws `failed` for a malformed file, or one that
 * other users may read.
 */
export async function readKeyring(dataDir: string): Promise<Keyring | undefined> {
  const path = join(dataDir, keyringPath);
  const text = await readIfThere(path);
  if (text === undefined) return undefined;
  const { mode } = await stat(path);
  if ((mode & 0o077) !== 0)
    throw new StorageError('failed', `read ${path}: others may read it (mode ${(mode & 0o777).toString(8)}): chmod 600 ${path}`);
  return parseKeyring(text, path);
}

/** Writes the keys, whole or not at all. */
export async function writeKeyring(dataDir: string, { current, keys }: Keyring): Promise<void> {
  const path = join(dataDir, keyringPath);
  await ensurePrivateDir(dirname(path));
  const list = [...keys.values()].map(({ id, secret, createdAt }) => ({ id, createdAt, secret: secret.toString('base64') }));
  await writePrivateFile(path, `${JSON.stringify({ format, current: current.id, keys: list }, null, 2)}\n`);
}

/** The keys with a new current one. Throws `failed` when there are too many. */
export function withNewKey(keyring: Keyring | undefined, now: Date): Keyring {
  if (keyring && keyring.keys.size >= mostKeys)
    throw new StorageError('failed', `make a key: ${keyringPath} has ${mostKeys} keys already, which no installation needs`);
  const current = { id: randomBytes(8).toString('hex'), secret: randomBytes(secretBytes), createdAt: now.toISOString() };
  return { current, keys: new Map([...(keyring?.keys ?? []), [current.id, current]]) };
}

function parseKeyring(text: string, path: string): Keyring {
  const bad = (why: string) => new StorageError('failed', `read ${path}: ${why}; put back the file as it was`);
  let file: { format?: unknown; current?: unknown; keys?: unknown };
  try {
    file = JSON.parse(text);
  } catch {
    // The parser's message would show what stands there.
    throw bad('it is no JSON');
  }
  if (typeof file.format === 'number' && file.format > format)
    throw new StorageError(
      'newer-format',
      `read ${path}: it has format ${file.format}: start the newer version of berth that wrote it`,
    );
  if (typeof file !== 'object' || file === null || file.format !== format || !Array.isArray(file.keys))
    throw bad('it holds no keys');
  const keys = new Map(file.keys.map((each: unknown) => parseKey(each, bad)).map((key) => [key.id, key]));
  const current = keys.get(String(file.current));
  if (!current) throw bad('its current key is missing');
  return { current, keys };
}

function parseKey(value: unknown, bad: (why: string) => StorageError): SealingKey {
  const { id, secret, createdAt } = (value ?? {}) as Partial<Record<string, unknown>>;
  if (typeof id !== 'string' || !/^[0-9a-f]{16}$/.test(id)) throw bad('a key has no id');
  const bytes = Buffer.from(typeof secret === 'string' ? secret : '', 'base64');
  if (bytes.length !== secretBytes) throw bad(`the key ${id} is not ${secretBytes} bytes long`);
  return { id, secret: bytes, createdAt: typeof createdAt === 'string' ? createdAt : '' };
}
