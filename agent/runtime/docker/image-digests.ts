import { createLru } from '../../../api/meta/lru.ts';
import type { ImageService, LocalImage } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import { splitReference } from './reference.ts';

/** More than a node has images. */
const remembered = 1_000;

/** By which digests images were pulled. */
export interface ImageDigests {
  /**
   * The digest in the repository of the reference, else any. Undefined when there is none,
   * or when the engine does not say.
   */
  of(id: string, reference: string): Promise<string | undefined>;
  /** Caches a fresh inspect, so that the start of a container needs none. */
  learn(image: LocalImage): void;
}

/** Asks the engine once for each image that it has not learnt of. */
export function createImageDigests(find: ImageService['find']): ImageDigests {
  const known = createLru<Promise<readonly string[]> | undefined>(remembered);

  async function read(id: string): Promise<readonly string[]> {
    return digestsIn((await find(id))?.names ?? []);
  }

  return {
    async of(id, reference) {
      const reading = known.get(id) ?? read(id);
      known.set(id, reading);
      try {
        const digests = await reading;
        return digests.find((each) => splitReference(each).name === splitReference(reference).name) ?? digests[0];
      } catch (error) {
        known.set(id, undefined);
        if (!(error instanceof RuntimeError)) throw error;
        return undefined;
      }
    },
    learn: ({ id, names }) => known.set(id, Promise.resolve(digestsIn(names))),
  };
}

function digestsIn(names: readonly string[]): string[] {
  return names.filter((name) => name.includes('@'));
}
