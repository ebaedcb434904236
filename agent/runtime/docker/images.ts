import type { ImageService, LocalImage, PullOptions, RegistryAuth } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { Engine } from './engine.ts';
import { codeForStatus } from './errors.ts';
import { imageArchive } from './image-archive.ts';
import { parseLines } from './lines.ts';
import { createPullMeter, type PullStep } from './pull-meter.ts';
import { splitReference } from './reference.ts';
import { asksForPassword } from './registry-challenge.ts';

interface ImageEntry {
  readonly Id: string;
  readonly RepoTags: readonly string[] | null;
  readonly RepoDigests: readonly string[] | null;
  readonly Size: number;
  /** In a list. */
  readonly Labels?: Readonly<Record<string, string>> | null;
  /** In an inspection. */
  readonly Config?: {
    readonly User?: string;
    readonly Entrypoint?: readonly string[] | null;
    readonly Labels?: Readonly<Record<string, string>> | null;
  } | null;
}

/** A step of a pull, or the error that ended it. */
interface Progress extends PullStep {
  readonly error?: string;
  readonly errorDetail?: { readonly code?: number; readonly message?: string };
}

// A registry may be slow until the first step of a pull is seen. The caller bounds that, and the pull, by its signal.
const pullStartTimeoutMs = 3_600_000;
const loadTimeoutMs = 120_000;
const askTimeoutMs = 15_000;
/** The builder of an image may want it to stay on the machine. */
const pinnedLabel = 'io.berth.pinned';

/** `onFound` is called for each inspected image. */
export function createImages(engine: Engine, onFound: (image: LocalImage) => void = () => {}): ImageService {
  const images = new DockerImages(engine, onFound);
  // Functions of their own, for those that put something around some of them.
  return {
    find: (reference) => images.find(reference),
    pull: (reference, options) => images.pull(reference, options),
    list: () => images.list(),
    load: (reference, layer, entrypoint) => images.load(reference, layer, entrypoint),
    remove: (reference) => images.remove(reference),
    isRefused: (reference, auth) => images.isRefused(reference, auth),
    usedByContainers: () => images.usedByContainers(),
  };
}

class DockerImages implements ImageService {
  readonly #engine: Engine;
  readonly #onFound: (image: LocalImage) => void;

  constructor(engine: Engine, onFound: (image: LocalImage) => void = () => {}) {
    this.#engine = engine;
    this.#onFound = onFound;
  }

  async find(reference: string): Promise<LocalImage | undefined> {
    try {
      const path = `/images/${pathOf(reference)}/json`;
      const call = { method: 'GET', path, action: `find image ${reference}`, subject: 'image' } as const;
      const image = localImage(await this.#engine.call<ImageEntry>(call));
      this.#onFound(image);
      return image;
    } catch (error) {
      if (error instanceof RuntimeError && error.code === 'image-not-found') return undefined;
      throw error;
    }
  }

  async pull(reference: string, { signal, auth, onProgress }: PullOptions): Promise<LocalImage> {
    const stream = await this.#engine.stream({
      method: 'POST',
      path: '/images/create',
      query: pullQuery(reference),
      action: `pull image ${reference}`,
      subject: 'pull',
      timeoutMs: pullStartTimeoutMs,
      registryAuth: auth && encodeAuth(auth),
      signal,
    });
    const meter = createPullMeter();
    const onStep = (step: Progress) => onProgress?.(meter.add(step));
    await finish(parseLines<Progress>(stream), { action: `pull image ${reference}`, signal, onStep });
    return this.#present(reference, 'pull');
  }

  async isRefused(reference: string, auth: RegistryAuth | undefined): Promise<boolean> {
    try {
      await this.#engine.call<unknown>({
        method: 'GET',
        path: `/distribution/${pathOf(reference)}/json`,
        action: `ask for image ${reference}`,
        subject: 'pull',
        registryAuth: auth && encodeAuth(auth),
        timeoutMs: askTimeoutMs,
      });
      return false;
    } catch (error) {
      if (!(error instanceof RuntimeError)) throw error;
      if (error.code === 'image-unauthorized' || error.code === 'image-not-found') return true;
      // For a missing login the engine reports the same as for an unreachable registry.
      return auth === undefined && (await asksForPassword(splitReference(reference).name, askTimeoutMs));
    }
  }

  async usedByContainers(): Promise<ReadonlySet<string>> {
    const containers = await this.#engine.call<{ readonly ImageID: string }[]>({
      method: 'GET',
      path: '/containers/json',
      query: { all: 1 },
      action: 'list all containers',
    });
    return new Set(containers.map(({ ImageID }) => ImageID));
  }

  async list(): Promise<LocalImage[]> {
    const entries = await this.#engine.call<ImageEntry[]>({
      method: 'GET',
      path: '/images/json',
      action: 'list images',
      subject: 'image',
    });
    return entries.map(localImage);
  }

  async load(reference: string, layer: Uint8Array, entrypoint: readonly string[]): Promise<LocalImage> {
    const { id, tar } = await imageArchive(reference, layer, entrypoint);
    const known = await this.find(id);
    if (known?.names.includes(reference)) return known;
    const stream = await this.#engine.stream({
      method: 'POST',
      path: '/images/load',
      query: { quiet: 1 },
      bytes: tar,
      action: `load image ${reference}`,
      subject: 'image',
      timeoutMs: loadTimeoutMs,
    });
    await finish(parseLines<Progress>(stream), { action: `load image ${reference}` });
    return (await this.find(id)) ?? this.#present(reference, 'load');
  }

  async remove(reference: string): Promise<boolean> {
    const path = `/images/${pathOf(reference)}`;
    try {
      await this.#engine.call<unknown>({ method: 'DELETE', path, action: `remove image ${reference}`, subject: 'image' });
      return true;
    } catch (error) {
      if (!(error instanceof RuntimeError)) throw error;
      if (error.code === 'image-not-found') return true;
      if (error.code === 'conflict') return false;
      throw error;
    }
  }

  async #present(reference: string, action: string): Promise<LocalImage> {
    const image = await this.find(reference);
    if (image === undefined)
      throw new RuntimeError('failed', `${action} image ${reference}: the engine does not have it afterwards`);
    return image;
  }
}

/** Without a tag the engine would pull every tag there is. */
function pullQuery(reference: string): Record<string, string> {
  const { name, tag, digest } = splitReference(reference);
  return { fromImage: name, tag: digest ?? tag ?? 'latest' };
}

function pathOf(reference: string): string {
  return reference.split('/').map(encodeURIComponent).join('/');
}

function encodeAuth({ username, password, identityToken, serverAddress }: RegistryAuth): string {
  const login = identityToken === undefined ? { username, password } : { identitytoken: identityToken };
  const text = Buffer.from(JSON.stringify({ ...login, serveraddress: serverAddress })).toString('base64');
  // For URLs, but with padding: without it the engine silently pulls anonymously.
  return text.replaceAll('+', '-').replaceAll('/', '_');
}

interface Reading {
  readonly action: string;
  readonly signal?: AbortSignal;
  readonly onStep?: (step: Progress) => void;
}

/** Reads the steps to the end: an error after the first one comes inside of the stream, under status 200. */
async function finish(steps: AsyncIterable<Progress>, { action, signal, onStep }: Reading): Promise<void> {
  try {
    for await (const step of steps) {
      if (step.error === undefined && step.errorDetail === undefined) {
        onStep?.(step);
        continue;
      }
      const status = step.errorDetail?.code ?? 500;
      throw new RuntimeError(codeForStatus(status, 'pull'), `${action}: ${step.errorDetail?.message ?? step.error}`);
    }
  } catch (error) {
    if (error instanceof RuntimeError) throw error;
    const words = signal?.aborted ? 'aborted' : error instanceof Error ? error.message : String(error);
    throw new RuntimeError(signal?.aborted ? 'failed' : 'unavailable', `${action}: ${words}`, { cause: error });
  }
  if (signal?.aborted) throw new RuntimeError('failed', `${action}: aborted`, { cause: signal.reason });
}

function localImage(entry: ImageEntry): LocalImage {
  const names = [...(entry.RepoTags ?? []), ...(entry.RepoDigests ?? [])].filter((name) => !name.includes('<none>'));
  const labels = entry.Labels ?? entry.Config?.Labels ?? {};
  const user = entry.Config && { user: entry.Config.User ?? '' };
  const program = entry.Config?.Entrypoint?.[0];
  const own = { ...user, ...(program !== undefined && { program }) };
  return { id: entry.Id, names, sizeBytes: entry.Size, pinned: labels[pinnedLabel] === 'true', ...own };
}
