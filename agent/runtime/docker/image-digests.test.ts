import { describe, expect, it } from 'vitest';
import { RuntimeError } from '../runtime-error.ts';
import { createImageDigests } from './image-digests.ts';

describe('the digest that an image was pulled by', () => {
  const names = ['a:1', 'mirror/a@sha256:1', 'a@sha256:2'];

  it.each([
    ['a:1', 'a@sha256:2'],
    ['a@sha256:2', 'a@sha256:2'],
    ['mirror/a', 'mirror/a@sha256:1'],
    ['other', 'mirror/a@sha256:1'],
  ])('is the one of the repository that the container names: %s', async (reference, digest) => {
    const { of } = createImageDigests(async (id) => ({ id, names, sizeBytes: 1 }));
    expect(await of('id', reference)).toBe(digest);
  });

  it('is none of one that was made here, or that is gone', async () => {
    expect(await createImageDigests(async (id) => ({ id, names: ['a:1'], sizeBytes: 1 })).of('id', 'a:1')).toBeUndefined();
    expect(await createImageDigests(async () => undefined).of('id', 'a:1')).toBeUndefined();
  });

  it('is not asked for where the image was just looked at, and is the newest that was seen', async () => {
    const { of, learn } = createImageDigests(async () => {
      throw new Error('asked');
    });
    learn({ id: 'id', names: ['a:1'], sizeBytes: 1 });
    expect(await of('id', 'a:1')).toBeUndefined();
    learn({ id: 'id', names, sizeBytes: 1 });
    expect(await of('id', 'a:1')).toBe('a@sha256:2');
  });

  it('is asked for once, and again when the engine did not answer', async () => {
    let asked = 0;
    const { of } = createImageDigests(async (id) => {
      if (++asked === 1) throw new RuntimeError('timeout', 'no answer');
      return { id, names, sizeBytes: 1 };
    });
    expect(await of('id', 'a:1')).toBeUndefined();
    expect(await Promise.all([of('id', 'a:1'), of('id', 'a:1')])).toEqual(['a@sha256:2', 'a@sha256:2']);
    expect(asked).toBe(2);
  });
});
