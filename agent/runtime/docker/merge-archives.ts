import { posix } from 'node:path';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract, type Header, type Pack, pack } from 'tar-stream';

/** An archive of one folder or file, and where it belongs in the folder that is packed: "mem", "a/b". */
export interface Part {
  readonly at: string;
  open(): AsyncIterable<Uint8Array>;
}

export interface Merging {
  /** An archive of the folder, under this name. */
  readonly name: string;
  readonly base: AsyncIterable<Uint8Array>;
  /** What is taken from elsewhere, or not at all: nothing at or below it is taken from `base`. */
  readonly without: readonly string[];
  readonly parts: readonly Part[];
}

/** One archive of a folder out of several, one after the other. Reads no faster than it is read. */
export async function* mergeArchives({ name, base, without, parts }: Merging): AsyncGenerator<Uint8Array> {
  const merged = pack();
  const isWithout = (path: string): boolean => without.some((each) => path === each || path.startsWith(`${each}/`));
  const top = name === '' ? '/' : name;
  const stop = new AbortController();
  const adding = (async () => {
    const outside = (path: string) => (isWithout(path) ? undefined : posix.join(top, path));
    await addAll(merged, base, outside, stop.signal);
    for (const { at, open } of parts) await addAll(merged, open(), (path) => posix.join(top, at, path), stop.signal);
    merged.finalize();
  })();
  adding.catch((error: Error) => merged.destroy(error));
  try {
    yield* merged as AsyncIterable<Buffer>;
    await adding;
  } finally {
    stop.abort();
    merged.destroy();
  }
}

/**
 * Adds all entries of an archive under other names. The first part of a name, which stands for what is packed,
 * is not given to `rename`.
 */
async function addAll(
  merged: Pack,
  archive: AsyncIterable<Uint8Array>,
  rename: (path: string) => string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const unpacking = extract();
  const feeding = pipeline(Readable.from(archive, { objectMode: false }), unpacking as unknown as Writable, { signal });
  feeding.catch(() => {});
  for await (const entry of unpacking) {
    const { name, type, linkname, mode, uid, gid, size, mtime, devmajor, devminor } = entry.header;
    const newName = rename(belowFirst(name));
    // Of an archive's links only hard ones name another entry.
    const target = type === 'link' ? rename(belowFirst(linkname ?? '')) : linkname;
    if (newName === undefined || (type === 'link' && target === undefined)) entry.resume();
    else {
      const header = { name: newName, type, linkname: target, mode, uid, gid, size, mtime, devmajor, devminor } as Header;
      await add(merged, header, entry);
    }
  }
  await feeding;
}

const belowFirst = (name: string): string => name.split('/').slice(1).filter(Boolean).join('/');

async function add(merged: Pack, header: Header, content: AsyncIterable<unknown>): Promise<void> {
  if (header.type === 'file' && header.size !== 0) {
    await pipeline(content, merged.entry(header) as unknown as NodeJS.WritableStream);
    return;
  }
  for await (const _ of content);
  // With content, though it is empty: otherwise the library waits for some.
  await new Promise<void>((resolve, reject) => {
    merged.entry(header, '', (error) => (error ? reject(error) : resolve()));
  });
}
