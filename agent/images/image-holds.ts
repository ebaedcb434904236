import type { LocalImage } from '../runtime/runtime.ts';
import { canonicalReference } from './reference.ts';

/**
 * Synchronizes container starts with image garbage collection. A reference is held from before its image is looked for
 * until its container is there; an image with a held name is not removed; a hold on the name of an image that is just
 * being removed waits until it is gone, and pulls it anew.
 *
 *     hold -> settled -> look, pull -> create the container -> release
 *     isHeld? no -> removing ............................. -> gone
 *
 * Nothing is awaited between the question and the beginning of the removal.
 */
export interface ImageHolds {
  /** Returns the release, which may be called any number of times. */
  hold(reference: string): () => void;
  /** Resolves once no image of this reference is being removed. */
  settled(reference: string): Promise<void>;
  isHeld(image: LocalImage): boolean;
  /** Runs a removal, unless the image is held: then undefined. */
  remove<T>(image: LocalImage, run: () => Promise<T>): Promise<T> | undefined;
}

export function createImageHolds(): ImageHolds {
  const held = new Map<string, number>();
  const removals = new Map<string, Promise<unknown>>();

  function isHeld(image: LocalImage): boolean {
    return keysOf(image).some((key) => held.has(key));
  }

  return {
    isHeld,
    hold(reference) {
      const key = keyOf(reference);
      held.set(key, (held.get(key) ?? 0) + 1);
      let isReleased = false;
      return () => {
        if (isReleased) return;
        isReleased = true;
        const count = (held.get(key) ?? 1) - 1;
        if (count === 0) held.delete(key);
        else held.set(key, count);
      };
    },
    async settled(reference) {
      const key = keyOf(reference);
      for (let removal = removals.get(key); removal !== undefined; removal = removals.get(key))
        await removal.catch(() => undefined);
    },
    remove(image, run) {
      if (isHeld(image)) return undefined;
      const keys = keysOf(image);
      const removal = run().finally(() => {
        for (const key of keys) if (removals.get(key) === removal) removals.delete(key);
      });
      for (const key of keys) removals.set(key, removal);
      return removal;
    },
  };
}

/** Names in their canonical form; ids unchanged. */
function keyOf(reference: string): string {
  return canonicalReference(reference) ?? reference;
}

function keysOf({ id, names }: LocalImage): string[] {
  // A pod may also name an image by its id, which reads like a tag: "sha256:...".
  return [...new Set([...names.map(keyOf), keyOf(id), id])];
}
