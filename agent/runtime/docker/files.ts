import { readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { Readable } from 'node:stream';
import { linkAbort } from '../../../client/abort.ts';
import type { FileInfo, FileReading } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { ProgramOptions } from './container-program.ts';
import { lookInContainer, packByReading, packInContainer, unpackInContainer } from './container-tar.ts';
import { readEngineView } from './container-view.ts';
import type { Engine } from './engine.ts';
import type { EngineView, Place } from './engine-view.ts';
import { followLinks, mostLinks } from './follow-links.ts';
import { identityOf } from './labels.ts';
import { checkPath } from './long-paths.ts';
import { mergeArchives } from './merge-archives.ts';
import type { Inspection } from './observe.ts';
import { type FirstEntry, parseFirstEntry } from './tar-header.ts';

/** What the engine says of a path, in a header; the mode is Go's os.FileMode. */
export interface PathStat {
  readonly name: string;
  readonly size: number;
  readonly mode: number;
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
/** Each is packed by a program of its own. */
const mostParts = 32;

/** A path that was found: without links, unless it is one that leads to nothing. */
interface Found {
  readonly path: string;
  readonly info: FileInfo;
  readonly entry: FirstEntry;
  readonly place: Place;
  readonly view: EngineView;
}

/**
 * Reads and writes files of a container. The engine does it where it sees them: it needs no program in the image. What
 * is mounted only inside of the container (`engine-view.ts`) is read and written by the container's own tar. Nothing is
 * opened through /proc/PID/root, where links that a container changes meanwhile would lead anywhere on the machine.
 */
export class ContainerFiles {
  readonly #engine: Engine;
  readonly #container: Inspection;

  constructor(engine: Engine, container: Inspection) {
    this.#engine = engine;
    this.#container = container;
  }

  async stat(path: string, signal: AbortSignal): Promise<FileInfo> {
    return (await this.#find(path, 'look at', signal)).info;
  }

  async read(path: string, signal: AbortSignal): Promise<FileReading> {
    const found = await this.#find(path, 'read', signal);
    const stop = linkAbort(signal);
    const content = this.#archiveOf(found, stop.signal);
    async function* archive(): AsyncGenerator<Uint8Array> {
      try {
        yield* content;
      } finally {
        stop.unlink();
      }
    }
    return { info: found.info, archive, close: stop.abort };
  }

  async write(path: string, archive: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    const { path: folder, info, place, view } = await this.#find(path, 'write to', signal);
    const action = `write to ${folder}`;
    if (info.type !== 'directory') throw new RuntimeError('invalid', `${action}: it is no directory`);
    if (place.kind === 'kernel')
      throw new RuntimeError('invalid', `${action}: ${wordsOf(place)} is an interface of the kernel and takes no files`);
    const inside = [place, ...view.below(folder)].find(({ kind }) => kind === 'container');
    if (inside !== undefined) return unpackInContainer(folder, archive, this.#program(action, inside, view, signal));
    const upload = Readable.from(archive, { objectMode: false });
    const call = { ...this.#request('PUT', folder), upload, action, signal };
    await this.#engine.call({ ...call, timeoutMs: uploadTimeoutMs, slow: true });
  }

  #archiveOf({ path, info, entry, place, view }: Found, signal: AbortSignal): AsyncIterable<Uint8Array> {
    const action = `read ${path}`;
    const program = (at: Place) => this.#program(action, at, view, signal);
    if (info.type !== 'directory') {
      if (place.kind === 'engine') return this.#engineArchive(path, signal);
      const isEmpty = info.type === 'file' && info.size === 0;
      const hasNoSize = isEmpty || (info.type === 'file' && place.kind === 'kernel');
      return hasNoSize ? packByReading(path, entry, program(place)) : packInContainer(path, program(place));
    }
    const below = view.below(path);
    if (place.kind !== 'engine') {
      const kernel = [place, ...below].find(({ kind }) => kind === 'kernel');
      if (kernel === undefined) return packInContainer(path, program(place));
      throw new RuntimeError('conflict', `${action}: ${wordsOf(kernel)} is an interface of the kernel, ${kernelAdvice}`);
    }
    return this.#mergedArchive(path, below, { action, program, signal });
  }

  /**
   * Of a folder that the engine sees, with what it does not see below. The kernel's files are left out:
   * they have no size.
   */
  #mergedArchive(
    path: string,
    below: readonly Place[],
    { action, program, signal }: { action: string; program: (at: Place) => ProgramOptions; signal: AbortSignal },
  ): AsyncIterable<Uint8Array> {
    const base = this.#engineArchive(path, signal);
    const inside = below.filter(({ kind }) => kind === 'container');
    if (inside.length > mostParts)
      throw new RuntimeError(
        'conflict',
        `${action}: ${inside.length} file systems below it are seen only inside the container, at most ${mostParts} are copied at once: copy its folders one by one`,
      );
    const replaced = below.filter(({ kind, seen }) => kind === 'container' || seen);
    if (replaced.length === 0) return base;
    const placeIn = ({ mount }: Place): string => posix.relative(path, mount.mountPoint);
    const parts = inside.map((each) => ({
      at: placeIn(each),
      open: () => packInContainer(each.mount.mountPoint, program(each)),
    }));
    return mergeArchives({ name: posix.basename(path), base, without: replaced.map(placeIn), parts });
  }

  async *#engineArchive(path: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const action = `read ${path}`;
    const stream = await this.#engine.stream({ ...this.#request('GET', path), action, signal });
    try {
      for await (const data of stream) yield data as Uint8Array;
    } catch (error) {
      throw new RuntimeError('unavailable', `${action}: the engine closed the stream`, { cause: error });
    } finally {
      stream.destroy();
    }
  }

  /**
   * What a path is; a link is what it leads to, unless that is not there. Follows links itself: the engine does not
   * know where they lead elsewhere.
   */
  async #find(path: string, doing: string, signal: AbortSignal): Promise<Found> {
    const absolute = pathIn(this.#container, path);
    // Each part of it costs the engine a call.
    checkPath('the path', absolute);
    const action = `${doing} ${absolute}`;
    const view = await readEngineView(this.#container);
    const owner = await processOwner(this.#container.State.Pid);
    const look = (at: string) => this.#look(at, { view, action, signal });
    const found = await followLinks(absolute, look, view.hasNoLinks);
    if (found === 'too many links')
      throw new RuntimeError('invalid', `${action}: more than ${mostLinks} links lead from one to the next`);
    if (found === undefined) {
      const name = identityOf(this.#container.Config.Labels ?? {}).containerName;
      throw new RuntimeError('not-found', `no such file or directory in container "${name}": ${absolute}`);
    }
    const { entry } = found;
    const { size, mode, type } = entry;
    const info = { name: posix.basename(absolute) || '/', size, mode, type, owner };
    return { path: found.path, entry, info, view, place: view.placeOf(found.path) };
  }

  /** What is at a path of which only the last part may be a link. */
  async #look(path: string, { view, action, signal }: { view: EngineView; action: string; signal: AbortSignal }) {
    const place = view.placeOf(path);
    if (place.kind !== 'engine') return lookInContainer(path, this.#program(action, place, view, signal));
    const stat = await this.#head(path, signal);
    if (stat === undefined) return undefined;
    const info = fileInfoOf(stat);
    return { ...info, target: info.type === 'link' ? await this.#readLink(path, signal) : '' };
  }

  /** The text of a link. The engine tells only where it leads in the end, as far as the engine sees. */
  async #readLink(path: string, signal: AbortSignal): Promise<string> {
    let bytes = Buffer.alloc(0);
    for await (const data of this.#engineArchive(path, signal)) {
      bytes = Buffer.concat([bytes, data]);
      const entry = parseFirstEntry(bytes);
      if (typeof entry === 'object') return entry.target;
      if (entry !== 'more') break;
    }
    throw new RuntimeError('failed', `look at ${path}: the engine does not say where the link leads`);
  }

  /** For programs in the container. Throws when none can run. */
  #program(action: string, place: Place, { running, unknown }: EngineView, signal: AbortSignal): ProgramOptions {
    const where = wordsOf(place);
    if (!running)
      throw new RuntimeError(
        'conflict',
        `${action}: ${where} is there only while the container runs, and it does not run: copy it earlier, or keep the files in a volume`,
      );
    const why =
      unknown === undefined
        ? `${where} is seen only inside the container`
        : `the agent cannot tell what is mounted in the container (${unknown})`;
    const missing = (name: string) =>
      new RuntimeError(
        'conflict',
        `${action}: ${why}, and its image has no "${name}" that its user can run: use an image with ${name}, or copy through a volume`,
      );
    return { engine: this.#engine, containerId: this.#container.Id, action, signal, missing };
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

const kernelAdvice = 'and a folder of it is not copied: copy its files one by one, and other folders beside it';

const wordsOf = ({ mount }: Place): string => `${mount.mountPoint} (${mount.type})`;

function readStat(answer: Readable, action: string): PathStat {
  const { headers } = answer as Readable & { readonly headers?: Readonly<Record<string, string | undefined>> };
  const header = headers?.['x-docker-container-path-stat'];
  if (header === undefined) throw new RuntimeError('failed', `${action}: the engine does not say what the path is`);
  return JSON.parse(Buffer.from(header, 'base64').toString('utf8')) as PathStat;
}

/** The user and group of a process: what a container writes belongs to them. Root when it does not run. */
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
