import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ImageService } from '../runtime/runtime.ts';

const fileIn = (nodeDir: string): string => join(nodeDir, 'pulled-images');
/** A file of at most a few hundred KiB; what is pulled beyond that stays when Berth is purged. */
const mostImages = 5_000;

/** The references that the agent of this folder pulled, and that were not on the machine before. */
export async function readPulledImages(nodeDir: string): Promise<string[]> {
  try {
    return [...new Set((await readFile(fileIn(nodeDir), 'utf8')).split('\n').filter(Boolean))];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Writes down what is pulled, so that a purge removes what came with Berth, and not what was there. */
export function recordPulls(images: ImageService, nodeDir: string, warn: (message: string) => void): ImageService {
  async function record(reference: string): Promise<void> {
    try {
      const known = await readPulledImages(nodeDir);
      if (!known.includes(reference) && known.length < mostImages)
        await appendFile(fileIn(nodeDir), `${reference}\n`, { mode: 0o600 });
    } catch (error) {
      warn(`cannot write down that image ${reference} was pulled, it stays when Berth is purged: ${(error as Error).message}`);
    }
  }
  return {
    ...images,
    async pull(reference, signal) {
      const isNew = (await images.find(reference)) === undefined;
      const pulled = await images.pull(reference, signal);
      if (isNew) await record(reference);
      return pulled;
    },
  };
}
