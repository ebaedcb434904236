import { createHash } from 'node:crypto';
import type { ImageService, LocalImage } from '../../agent/runtime/runtime.ts';
import { RuntimeError } from '../../agent/runtime/runtime-error.ts';
import { createLru } from '../../api/meta/lru.ts';

const nowhere = 'pull-error.hollow.berth.io';
/** Images by reference that are remembered, for all nodes together; others are made again. */
const remembered = 1_000;
const sizeBytes = 1_000_000;
/** Not root, so that pods with runAsNonRoot start. */
const user = '65532';

/** The name of an image that cannot be pulled; its tag or digest stays. */
export function unpullable(reference: string): string {
  return `${nowhere}/${reference.slice(reference.lastIndexOf('/') + 1)}`;
}

/**
 * The images of all hollow nodes of a process: every image is there, except those that pods were told to fail with. The
 * list is empty, so that nodes report none and collect none.
 */
export function createHollowImages(): ImageService {
  const known = createLru<LocalImage>(remembered);

  function imageOf(reference: string): LocalImage {
    const found = known.get(reference);
    if (found !== undefined) return found;
    const id = `sha256:${createHash('sha256').update(reference).digest('hex')}`;
    const made = { id, names: [reference], sizeBytes, user };
    known.set(reference, made);
    return made;
  }
  const isUnpullable = (reference: string) => reference.startsWith(`${nowhere}/`);
  return {
    find: async (reference) => (isUnpullable(reference) ? undefined : imageOf(reference)),
    async pull(reference, { signal }) {
      signal.throwIfAborted();
      if (isUnpullable(reference))
        throw new RuntimeError('image-not-found', `pull image ${reference}: the pod's annotation tells the hollow node to fail`);
      return imageOf(reference);
    },
    isRefused: async () => false,
    list: async () => [],
    load: async (reference) => imageOf(reference),
    remove: async () => true,
    usedByContainers: async () => new Set(),
  };
}
