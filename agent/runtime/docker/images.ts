import type { ImageService, LocalImage } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { Engine } from './engine.ts';
import { codeForStatus } from './errors.ts';
import { parseLines } from './lines.ts';
import { splitReference } from './reference.ts';

interface ImageEntry {
  readonly Id: string;
  readonly RepoTags: readonly string[] | null;
  readonly RepoDigests: readonly string[] | null;
  readonly Size: number;
}

/** A step of a pull, or the error that ended it. */
interface Progress {
  readonly error?: string;
  readonly errorDetail?: { readonly code?: number; readonly message?: string };
}

// How long a registry may take until the first step of a pull is seen; the pull itself lasts as long as its signal lets it.
const pullStartTimeoutMs = 120_000;
const loadTimeoutMs = 120_000;

export function createImages(engine: Engine): ImageService {
  async function find(reference: string): Promise<LocalImage | undefined> {
    try {
      const path = `/images/${reference.split('/').map(encodeURIComponent).join('/')}/json`;
      return localImage(
        await engine.call<ImageEntry>({ method: 'GET', path, action: `find image ${reference}`, subject: 'image' }),
      );
    } catch (error) {
      if (error instanceof RuntimeError && error.code === 'image-not-found') return undefined;
      throw error;
    }
  }

  async function present(reference: string, action: string): Promise<LocalImage> {
    const image = await find(reference);
    if (image === undefined)
      throw new RuntimeError('failed', `${action} image ${reference}: the engine does not have it afterwards`);
    return image;
  }

  return {
    find,
    async pull(reference, signal) {
      const stream = await engine.stream({
        method: 'POST',
        path: '/images/create',
        query: pullQuery(reference),
        action: `pull image ${reference}`,
        subject: 'pull',
        timeoutMs: pullStartTimeoutMs,
        signal,
      });
      await finish(parseLines<Progress>(stream), `pull image ${reference}`, signal);
      return present(reference, 'pull');
    },
    async list() {
      const entries = await engine.call<ImageEntry[]>({
        method: 'GET',
        path: '/images/json',
        action: 'list images',
        subject: 'image',
      });
      return entries.map(localImage);
    },
    async load(reference, layer, entrypoint) {
      const { name, tag } = splitReference(reference);
      const stream = await engine.stream({
        method: 'POST',
        path: '/images/create',
        query: { fromSrc: '-', repo: name, tag: tag ?? 'latest', changes: `ENTRYPOINT ${JSON.stringify(entrypoint)}` },
        bytes: layer,
        action: `load image ${reference}`,
        subject: 'image',
        timeoutMs: loadTimeoutMs,
      });
      await finish(parseLines<Progress>(stream), `load image ${reference}`, undefined);
      return present(reference, 'load');
    },
    async remove(reference) {
      const path = `/images/${reference.split('/').map(encodeURIComponent).join('/')}`;
      try {
        await engine.call<unknown>({ method: 'DELETE', path, action: `remove image ${reference}`, subject: 'image' });
        return true;
      } catch (error) {
        if (!(error instanceof RuntimeError)) throw error;
        if (error.code === 'image-not-found') return true;
        if (error.code === 'conflict') return false;
        throw error;
      }
    },
  };
}

/** Without a tag the engine would pull every tag there is. */
function pullQuery(reference: string): Record<string, string> {
  const { name, tag, digest } = splitReference(reference);
  return { fromImage: name, tag: digest ?? tag ?? 'latest' };
}

/** Reads the steps to the end: an error after the first one comes inside of the stream, under status 200. */
async function finish(steps: AsyncIterable<Progress>, action: string, signal: AbortSignal | undefined): Promise<void> {
  try {
    for await (const step of steps) {
      if (step.error === undefined && step.errorDetail === undefined) continue;
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
  return { id: entry.Id, names, sizeBytes: entry.Size };
}
