import { describe, expect, it } from 'vitest';
import { settle } from '../../test/fakes/fake-clock.ts';
import { createImageHolds } from './image-holds.ts';

const id = `sha256:${'a'.repeat(64)}`;
const image = { id, names: ['nginx:1', `nginx@${id}`], sizeBytes: 1 };

describe('a held image', () => {
  it.each(['nginx:1', 'docker.io/library/nginx:1', `nginx@${id}`, `docker.io/nginx:1@${id}`, id])(
    'is not removed, under whichever name it is held: %s',
    (reference) => {
      const holds = createImageHolds();
      const release = holds.hold(reference);
      expect(holds.remove(image, async () => true)).toBeUndefined();
      release();
      release();
      expect(holds.remove(image, async () => true)).toBeInstanceOf(Promise);
    },
  );

  it('stays so until the last has let go', () => {
    const holds = createImageHolds();
    const releases = [holds.hold('nginx:1'), holds.hold('nginx:1')];
    releases[0]?.();
    releases[0]?.();
    expect(holds.isHeld(image)).toBe(true);
    releases[1]?.();
    expect(holds.isHeld(image)).toBe(false);
  });

  it('has nothing to do with images of other names', () => {
    const holds = createImageHolds();
    holds.hold('nginx:2');
    holds.hold('Not A Name');
    expect(holds.isHeld(image)).toBe(false);
  });
});

describe('a pod that wants an image that is being removed', () => {
  it.each(['docker.io/nginx:1', id])('waits until it is gone, whether the removal succeeds or not: %s', async (reference) => {
    for (const failure of [undefined, new Error('busy')]) {
      const holds = createImageHolds();
      let end = () => {};
      const removal = holds.remove(
        image,
        () => new Promise<void>((resolve, reject) => (end = () => (failure ? reject(failure) : resolve()))),
      );
      removal?.catch(() => undefined);
      holds.hold(reference);
      let isSettled = false;
      const waiting = holds.settled(reference).then(() => (isSettled = true));
      await settle();
      expect(isSettled).toBe(false);
      end();
      await waiting;
    }
  });
});
