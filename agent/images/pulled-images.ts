import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfThere } from '../../client/informer/read-if-there.ts';
import type { ImageService, LocalImage } from '../runtime/runtime.ts';
import { type Access, withAccess } from './access.ts';
import type { PullCredential } from './credentials.ts';
import { canonicalReference } from './reference.ts';

/** What is remembered of an image that was pulled. */
export interface PullRecord {
  /** References under which it was pulled and that were not on the machine before. */
  readonly names: readonly string[];
  /** By repository: who may use it. */
  readonly access: Readonly<Record<string, Access>>;
}

/**
 * What Berth pulled, and with whose credentials: for the purge, for the collection of images, and for who may use them. In a file, since the
 * engine's images have no place for it; a file that is lost makes every image one that was there before.
 */
export interface PullRecords {
  get(imageId: string): PullRecord | undefined;
  /** All references that were pulled and not on the machine before. */
  names(): ReadonlySet<string>;
  /** An image was pulled with this credential, or with none. */
  allow(imageId: string, repository: string, credential: PullCredential | undefined): Promise<void>;
  /**
   * Lists the images, forgets those that are gone, and finds out what became of pulls that an earlier agent did not see the end of. What is
   * pulled while the list is on its way is not in it, and not forgotten.
   */
  reconcile(list: () => Promise<readonly LocalImage[]>): Promise<readonly LocalImage[]>;
  /** The same images, with what is pulled written down. */
  recording(images: ImageService): ImageService;
}

interface State {
  images: Record<string, PullRecord>;
  /** Pulls that have begun, and whether their reference was not there before. */
  pulling: Record<string, { isNew: boolean }>;
  /** References without an image: of an older version of Berth, until the images are listed. */
  names: string[];
}

const fileIn = (nodeDir: string): string => join(nodeDir, 'images.json');
/** One reference a line, as older versions wrote it. */
const oldFileIn = (nodeDir: string): string => join(nodeDir, 'pulled-images');
/** A file of at most a few MiB; what is pulled beyond that counts as having been there before. */
const mostImages = 5_000;

/** The references that the agent of this folder pulled, and that were not on the machine before. */
export async function readPulledImages(nodeDir: string): Promise<string[]> {
  return [...namesOf(await readState(nodeDir))];
}

export async function openPullRecords(nodeDir: string, warn: (message: string) => void): Promise<PullRecords> {
  const state = await readState(nodeDir).catch((error: unknown): State => {
    warn(`cannot read which images were pulled, they count as the machine's own: ${(error as Error).message}`);
    return { images: {}, pulling: {}, names: [] };
  });
  const inherited = new Set(Object.keys(state.pulling));
  let written: Promise<void> = Promise.resolve();

  /** One after the other; what changed meanwhile is written by the same turn. */
  function write(): Promise<void> {
    written = written.then(async () => {
      try {
        const file = fileIn(nodeDir);
        await writeFile(`${file}.new`, JSON.stringify(state), { mode: 0o600 });
        await rename(`${file}.new`, file);
      } catch (error) {
        warn(`cannot write down which images were pulled, they stay when Berth is purged: ${(error as Error).message}`);
      }
    });
    return written;
  }

  function addName(imageId: string, name: string): void {
    if (state.images[imageId] === undefined && Object.keys(state.images).length >= mostImages) return;
    const { names = [], access = {} } = state.images[imageId] ?? {};
    state.images[imageId] = { names: [...new Set([...names, name])], access };
  }

  function addPulled(image: LocalImage, reference: string, isNew: boolean): void {
    if (isNew) addName(image.id, reference);
    else if (Object.keys(state.images).length < mostImages) state.images[image.id] ??= { names: [], access: {} };
  }

  return {
    get: (imageId) => state.images[imageId],
    names: () => namesOf(state),
    async allow(imageId, repository, credential) {
      const { names = [], access = {} } = state.images[imageId] ?? {};
      const next = withAccess(access[repository], credential);
      if (JSON.stringify(next) === JSON.stringify(access[repository])) return;
      state.images[imageId] = { names, access: { ...access, [repository]: next } };
      await write();
    },
    async reconcile(list) {
      const known = Object.keys(state.images);
      const images = await list();
      const before = JSON.stringify(state);
      const here = new Set(images.map(({ id }) => id));
      for (const id of known) if (!here.has(id)) delete state.images[id];
      for (const image of images) {
        const names = new Set(image.names.map(canonicalReference));
        for (const name of state.names) if (names.has(canonicalReference(name))) addName(image.id, name);
        for (const name of inherited)
          if (names.has(canonicalReference(name))) addPulled(image, name, state.pulling[name]?.isNew ?? false);
      }
      for (const name of inherited) delete state.pulling[name];
      inherited.clear();
      state.names = [];
      if (JSON.stringify(state) !== before) await write();
      return images;
    },
    recording: (images) => ({
      ...images,
      async pull(reference, options) {
        const isNew = (await images.find(reference)) === undefined || namesOf(state).has(reference);
        state.pulling[reference] = { isNew };
        await write();
        try {
          const pulled = await images.pull(reference, options);
          addPulled(pulled, reference, isNew);
          return pulled;
        } finally {
          delete state.pulling[reference];
          inherited.delete(reference);
          await write();
        }
      },
    }),
  };
}

function namesOf({ images, names }: State): Set<string> {
  return new Set([...names, ...Object.values(images).flatMap((image) => image.names)]);
}

async function readState(nodeDir: string): Promise<State> {
  const text = await readIfThere(fileIn(nodeDir));
  if (text !== undefined) return { images: {}, pulling: {}, names: [], ...(JSON.parse(text) as Partial<State>) };
  const old = (await readIfThere(oldFileIn(nodeDir))) ?? '';
  return { images: {}, pulling: {}, names: [...new Set(old.split('\n').filter(Boolean))] };
}
