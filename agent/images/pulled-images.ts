import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfThere } from '../../client/informer/read-if-there.ts';
import type { ImageService, LocalImage, PullOptions } from '../runtime/runtime.ts';
import { type Access, withAccess } from './access.ts';
import type { PullCredential } from './credentials.ts';
import { canonicalReference } from './reference.ts';

/** What is remembered of an image that was pulled. */
export interface PullRecord {
  /** References under which it was pulled and that were not on the machine before. */
  readonly names: readonly string[];
  /** The permitted credentials, by repository. */
  readonly access: Readonly<Record<string, Access>>;
}

/**
 * The images that Berth pulled, and the credentials of each pull: for the purge, for the collection of images, and for
 * the check which pods may use them.
 * In a file, since the engine's images have no place for it; a file that is lost makes every image one that was there
 * before.
 */
export interface PullRecords {
  get(imageId: string): PullRecord | undefined;
  /** All references that were pulled and not on the machine before. */
  names(): ReadonlySet<string>;
  /** An image was pulled with this credential, or with none. */
  allow(imageId: string, repository: string, credential: PullCredential | undefined): Promise<void>;
  /**
   * Lists the images, forgets those that are gone, and finds out what became of pulls that an earlier agent did not see
   * the end of. What is pulled while the list is on its way is not in it, and not forgotten.
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
  return createPullRecords(nodeDir, state, warn);
}

function createPullRecords(nodeDir: string, state: State, warn: (message: string) => void): PullRecords {
  return new StoredPullRecords(nodeDir, state, warn);
}

class StoredPullRecords implements PullRecords {
  readonly #nodeDir: string;
  readonly #state: State;
  readonly #warn: (message: string) => void;
  readonly #inherited: Set<string>;
  #written: Promise<void> = Promise.resolve();

  constructor(nodeDir: string, state: State, warn: (message: string) => void) {
    this.#nodeDir = nodeDir;
    this.#state = state;
    this.#warn = warn;
    this.#inherited = new Set(Object.keys(state.pulling));
  }

  get(imageId: string): PullRecord | undefined {
    return this.#state.images[imageId];
  }

  names(): ReadonlySet<string> {
    return namesOf(this.#state);
  }

  async allow(imageId: string, repository: string, credential: PullCredential | undefined): Promise<void> {
    const { names = [], access = {} } = this.#state.images[imageId] ?? {};
    const next = withAccess(access[repository], credential);
    if (JSON.stringify(next) === JSON.stringify(access[repository])) return;
    this.#state.images[imageId] = { names, access: { ...access, [repository]: next } };
    await this.#write();
  }

  async reconcile(list: () => Promise<readonly LocalImage[]>): Promise<readonly LocalImage[]> {
    const known = Object.keys(this.#state.images);
    const images = await list();
    const before = JSON.stringify(this.#state);
    const here = new Set(images.map(({ id }) => id));
    for (const id of known) if (!here.has(id)) delete this.#state.images[id];
    for (const image of images) {
      const names = new Set(image.names.map(canonicalReference));
      for (const name of this.#state.names) if (names.has(canonicalReference(name))) this.#addName(image.id, name);
      for (const name of this.#inherited)
        if (names.has(canonicalReference(name))) this.#addPulled(image, name, this.#state.pulling[name]?.isNew ?? false);
    }
    for (const name of this.#inherited) delete this.#state.pulling[name];
    this.#inherited.clear();
    this.#state.names = [];
    if (JSON.stringify(this.#state) !== before) await this.#write();
    return images;
  }

  recording(images: ImageService): ImageService {
    return {
      ...images,
      pull: (reference, options) => this.#pullRecorded(images, reference, options),
    };
  }

  /** One after the other; what changed meanwhile is written by the same turn. */
  #write(): Promise<void> {
    this.#written = this.#written.then(async () => {
      try {
        const file = fileIn(this.#nodeDir);
        await writeFile(`${file}.new`, JSON.stringify(this.#state), { mode: 0o600 });
        await rename(`${file}.new`, file);
      } catch (error) {
        this.#warn(`cannot write down which images were pulled, they stay when Berth is purged: ${(error as Error).message}`);
      }
    });
    return this.#written;
  }

  #addName(imageId: string, name: string): void {
    if (this.#state.images[imageId] === undefined && Object.keys(this.#state.images).length >= mostImages) return;
    const { names = [], access = {} } = this.#state.images[imageId] ?? {};
    this.#state.images[imageId] = { names: [...new Set([...names, name])], access };
  }

  #addPulled(image: LocalImage, reference: string, isNew: boolean): void {
    if (isNew) this.#addName(image.id, reference);
    else if (Object.keys(this.#state.images).length < mostImages) this.#state.images[image.id] ??= { names: [], access: {} };
  }

  async #pullRecorded(images: ImageService, reference: string, options: PullOptions): Promise<LocalImage> {
    const isNew = (await images.find(reference)) === undefined || namesOf(this.#state).has(reference);
    this.#state.pulling[reference] = { isNew };
    await this.#write();
    try {
      const pulled = await images.pull(reference, options);
      this.#addPulled(pulled, reference, isNew);
      return pulled;
    } finally {
      delete this.#state.pulling[reference];
      this.#inherited.delete(reference);
      await this.#write();
    }
  }
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
