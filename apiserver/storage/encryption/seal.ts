import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { restoreAdvice, StorageError } from '../storage-error.ts';
import { type Keyring, keyringPath, type SealingKey } from './keyring.ts';

/*
 * A sealed value:
 *   0 4 bytes 00 62 73 01: no message begins with a zero byte, so an unsealed value is never taken for a sealed
 *     one; the last byte is the format
 *   4 8 bytes: the key's id
 *  12 12 bytes: the nonce, drawn for each
 *  24 the ciphertext, as long as what it hides
 *     16 bytes: the tag
 * AES-256-GCM. The storage key of the value is authenticated with it: a value that was moved to another key cannot be
 * opened.
 */
const magic = Buffer.from([0x00, 0x62, 0x73, 0x01]);
const idBytes = 8;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = magic.length + idBytes + nonceBytes;
const cipher = 'aes-256-gcm';

/** What a sealed value has more than what it hides. */
export const sealBytes = headBytes + tagBytes;

/** Hides bytes that are to stand under a storage key. */
export function seal(storageKey: string, bytes: Uint8Array, { id, secret }: SealingKey): Buffer {
  const nonce = randomBytes(nonceBytes);
  const head = Buffer.concat([magic, Buffer.from(id, 'hex'), nonce]);
  const sealing = createCipheriv(cipher, secret, nonce, { authTagLength: tagBytes });
  sealing.setAAD(associated(storageKey, head));
  return Buffer.concat([head, sealing.update(bytes), sealing.final(), sealing.getAuthTag()]);
}

/** The id of the key that hides a value; undefined of one that is not sealed. */
export function sealedWith(bytes: Uint8Array): string | undefined {
  if (bytes.length < sealBytes || !magic.equals(bytes.subarray(0, magic.length))) return undefined;
  return Buffer.from(bytes.subarray(magic.length, magic.length + idBytes)).toString('hex');
}

/**
 * Decrypts a sealed value; an unsealed one is returned as it is. Throws `no-key` when its key is not there, and
 * `corrupt` when it was changed, or stands under another storage key than it was written for.
 */
export function open(storageKey: string, bytes: Uint8Array, keyring: Pick<Keyring, 'keys'>): Uint8Array {
  const id = sealedWith(bytes);
  if (id === undefined) return bytes;
  const key = keyring.keys.get(id);
  if (!key)
    throw new StorageError(
      'no-key',
      `decrypt ${storageKey}: it was encrypted with the key ${id}, which is not in ${keyringPath}: put back the file that has it`,
    );
  const opening = createDecipheriv(cipher, key.secret, bytes.subarray(headBytes - nonceBytes, headBytes), {
    authTagLength: tagBytes,
  });
  opening.setAAD(associated(storageKey, bytes.subarray(0, headBytes)));
  opening.setAuthTag(bytes.subarray(bytes.length - tagBytes));
  try {
    return Buffer.concat([opening.update(bytes.subarray(headBytes, bytes.length - tagBytes)), opening.final()]);
  } catch (cause) {
    const why = `it was changed, or moved here from elsewhere, or the key ${id} is another one of that name`;
    throw new StorageError('corrupt', `decrypt ${storageKey}: ${why}; ${restoreAdvice}`, { cause });
  }
}

function associated(storageKey: string, head: Uint8Array): Buffer {
  return Buffer.concat([head.subarray(0, headBytes - nonceBytes), Buffer.from(storageKey)]);
}
