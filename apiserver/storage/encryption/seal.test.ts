import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StorageError } from '../storage-error.ts';
import { withNewKey } from './keyring.ts';
import { open, seal, sealBytes, sealedWith } from './seal.ts';

const now = new Date(0);
const keyring = withNewKey(undefined, now);
const bytes = fc.uint8Array({ maxLength: 500 });
const text = Buffer.from('the password is swordfish');

function failure(run: () => unknown): StorageError {
  try {
    run();
  } catch (error) {
    if (error instanceof StorageError) return error;
  }
  throw new Error('expected a StorageError');
}

describe('a sealed value', () => {
  it('is opened to what was sealed, under its own storage key', () => {
    fc.assert(
      fc.property(bytes, fc.string(), (plain, key) => {
        const sealed = seal(key, plain, keyring.current);
        expect(sealed.length).toBe(plain.length + sealBytes);
        expect(Buffer.from(open(key, sealed, keyring))).toEqual(Buffer.from(plain));
      }),
    );
  });

  it('says which key hides it, never shows what it hides, and is another each time', () => {
    const [one, two] = [seal('secrets/a/b', text, keyring.current), seal('secrets/a/b', text, keyring.current)];
    expect(sealedWith(one)).toBe(keyring.current.id);
    expect(one.includes('swordfish')).toBe(false);
    expect(one.equals(two)).toBe(false);
  });

  it('cannot be opened under another storage key', () => {
    const sealed = seal('secrets/a/b', text, keyring.current);
    const { code, message } = failure(() => open('secrets/a/c', sealed, keyring));
    expect([code, message]).toEqual(['corrupt', expect.stringContaining('decrypt secrets/a/c: it was changed, or moved here')]);
  });

  it('cannot be opened when any bit of it is another, and is never taken for something else', () => {
    const sealed = seal('secrets/a/b', text, keyring.current);
    for (let bit = 32; bit < sealed.length * 8; bit++) {
      const changed = Buffer.from(sealed);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      expect(['corrupt', 'no-key']).toContain(failure(() => open('secrets/a/b', changed, keyring)).code);
    }
  });

  it('names the key that is missing', () => {
    const other = withNewKey(undefined, now);
    const { code, message } = failure(() => open('secrets/a/b', seal('secrets/a/b', text, keyring.current), other));
    expect([code, message]).toEqual([
      'no-key',
      expect.stringContaining(`the key ${keyring.current.id}, which is not in secret-keys/keyring.json`),
    ]);
  });

  it('can be opened after any number of rotations', () => {
    const sealed = seal('k', text, keyring.current);
    const rotated = withNewKey(withNewKey(keyring, now), now);
    expect(Buffer.from(open('k', sealed, rotated))).toEqual(text);
    expect(sealedWith(seal('k', text, rotated.current))).not.toBe(keyring.current.id);
  });

  it('is told from what was never sealed, which is given as it is', () => {
    const message = Buffer.from([0x0a, 3, 1, 2, 3]);
    expect([sealedWith(message), open('k', message, keyring), sealedWith(new Uint8Array())]).toEqual([
      undefined,
      message,
      undefined,
    ]);
  });
});
