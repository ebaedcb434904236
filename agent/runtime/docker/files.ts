import { readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { Readable } from 'node:stream';
import type { FileInfo, FileReading } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { Engine } from './engine.ts';
import { identityOf } from './labels.ts';
import type { Inspection } from './observe.ts';

/** What the engine says of a path, in a header; the mode is Go's os.FileMode, the target of a link is resolved to its end. */
export interface PathStat {
  readonly name: string;
  readonly size: number;
  readonly mode: number;
  readonly linkTarget: string;
}

/** Bits of Go's os.FileMode. */
const bits = { directory: 2 ** 31, link: 2 ** 27, setuid: 2 ** 23, setgid: 2 ** 22, sticky: 2 ** 20, permissions: 0o777 };
/** Devices, pipes, sockets and what is irregular. */
const otherBits = 2 ** 26 + 2 ** 25 + 2 ** 24 + 2 ** 21 + 2 ** 19;

const has = (mode: number, wanted: number): boolean => (mode & wanted) !== 0;

export function fileInfoOf({ name, size, mode }: PathStat): Omit<FileInfo, 'owner'> {
  const special =
    (has(mode, bits.setuid) ? 0o4000 : 0) | (has(mode, bits.setgid) ? 0o2000 : 0) | (has(mode, bits.sticky) ? 0o1000 : 0);
  return { name, size, mode: (mode & bits.permissions) | special, type: typeOf(mode) };
}

function typeOf(mode: number): FileInfo['type'] {
  if (has(mode, bits.directory)) return 'directory';
  if (has(mode, bits.link)) return 'link';
  return has(mode, otherBits) ? 'other' : 'file';
}

/** A path in a container; what is not absolute begins at its working directory. */
export function pathIn({ Config }: Pick<Inspection, 'Config'>, path: string): string {
  return posix.resolve('/', Config.WorkingDir || '/', path);
}

// Unpacking gigabytes onto a slow disk takes its time; the agent bounds how long nothing may move.
const uploadTimeoutMs = 24 * 3_600_000;

/** Reads and writes files through the engine: it resolves links inside of the container, sees its volumes and needs no tar in the image. */
export class ContainerFiles {
  readonly #engine: Engine;
  readonly #container: Inspection;

  constructor(engine: Engine, container: Inspection) {
    this.#engine = engine;
    this.#container = container;
  }

  async stat(path: string, signal: AbortSignal): Promise<FileInfo> {
    return (await this.#find(path, signal)).info;
  }

  async read(path: string, signal: AbortSignal): Promise<FileReading> {
    const { info, resolved } = await this.#find(path, signal);
    const action = `read ${resolved}`;
    const stream = await this.#engine.stream({ ...this.#request('GET', resolved), action, signal });
    async function* archive(): AsyncGenerator<Uint8Array> {
      try {
        for await (const data of stream) yield data as Uint8Array;
      } catch (error) {
        throw new RuntimeError('unavailable', `${action}: the engine closed the stream`, { cause: error });
      } finally {
        stream.destroy();
      }
    }
    return { info, archive, close: () => stream.destroy() };
  }

  async write(path: string, archive: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    const { info, resolved } = await this.#find(path, signal);
    const action = `write to ${resolved}`;
    if (info.type !== 'directory') throw new RuntimeError('invalid', `${action}: it is no directory`);
    const upload = Readable.from(archive, { objectMode: false });
    const call = { ...this.#request('PUT', resolved), upload, action, signal };
    await this.#engine.call({ ...call, timeoutMs: uploadTimeoutMs, slow: true });
  }

  /** What a path is; a link is what it leads to, unless that is not there. */
  async #find(path: string, signal: AbortSignal): Promise<{ info: FileInfo; resolved: string }> {
    const absolute = pathIn(this.#container, path);
    const owner = await processOwner(this.#container.State.Pid);
    const stat = await this.#head(absolute, signal);
    if (stat === undefined) {
      const name = identityOf(this.#container.Config.Labels ?? {}).containerName;
      throw new RuntimeError('not-found', `no such file or directory in container "${name}": ${absolute}`);
    }
    const target = stat.linkTarget === '' ? undefined : await this.#head(posix.resolve('/', stat.linkTarget), signal);
    if (target === undefined) return { info: { ...fileInfoOf(stat), owner }, resolved: absolute };
    return { info: { ...fileInfoOf(target), name: stat.name, owner }, resolved: posix.resolve('/', stat.linkTarget) };
  }

  async #head(path: string, signal: AbortSignal): Promise<PathStat | undefined> {
    const action = `look at ${path}`;
    try {
      const answer = await this.#engine.stream({ ...this.#request('HEAD', path), action, signal });
      answer.destroy();
      return readStat(answer, action);
    } catch (error) {
      if (error instanceof RuntimeError && error.code === 'not-found') return undefined;
      throw error;
    }
  }

  #request(method: 'GET' | 'HEAD' | 'PUT', path: string) {
    return { method, path: `/containers/${this.#container.Id}/archive`, query: { path }, subject: 'file' } as const;
  }
}

function readStat(answer: Readable, action: string): PathStat {
  const { headers } = answer as Readable & { readonly headers?: Readonly<Record<string, string | undefined>> };
  const header = headers?.['x-docker-container-path-stat'];
  if (header === undefined) throw new RuntimeError('failed', `${action}: the engine does not say what the path is`);
  return JSON.parse(Buffer.from(header, 'base64').toString('utf8')) as PathStat;
}

/** Whose process it is: what a container writes belongs to them. Root when it does not run. */
async function processOwner(pid: number): Promise<FileInfo['owner']> {
  const root = { uid: 0, gid: 0 };
  if (pid === 0) return root;
  try {
    const status = await readFile(`/proc/${pid}/status`, 'utf8');
    const idOf = (name: string): number => Number(new RegExp(`^${name}:\\t\\d+\\t(\\d+)`, 'm').exec(status)?.[1] ?? 0);
    return { uid: idOf('Uid'), gid: idOf('Gid') };
  } catch {
    // It has ended meanwhile.
    return root;
  }
}
