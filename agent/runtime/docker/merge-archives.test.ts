import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { extract, type Header, pack } from 'tar-stream';
import { describe, expect, it } from 'vitest';
import { mergeArchives } from './merge-archives.ts';

type Entry = Partial<Header> & { readonly name: string; readonly text?: string };

async function archiveOf(...entries: readonly Entry[]): Promise<Buffer> {
  const archive = pack();
  for (const { text: content = '', ...header } of entries) archive.entry(header as Header, content);
  archive.finalize();
  return buffer(archive);
}

/** In pieces that fit no block. */
async function* pieces(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 333) yield bytes.subarray(at, at + 333);
}

async function listOf(archive: AsyncIterable<Uint8Array>): Promise<string[]> {
  const unpacking = extract();
  Readable.from(archive, { objectMode: false }).pipe(unpacking as unknown as NodeJS.WritableStream);
  const list: string[] = [];
  for await (const entry of unpacking) {
    const { name, type, mode, linkname } = entry.header;
    list.push([name, type, mode?.toString(8), linkname, await text(entry as unknown as Readable)].filter(Boolean).join(' '));
  }
  return list;
}

const baseOf = (name: string) =>
  archiveOf(
    { name: `${name}/`, type: 'directory', mode: 0o755 },
    { name: `${name}/file`, mode: 0o600, text: 'base' },
    { name: `${name}/mem/`, type: 'directory', mode: 0o700 },
    { name: `${name}/mem/hidden`, mode: 0o644, text: 'hidden' },
    { name: `${name}/memory`, mode: 0o644, text: 'kept' },
    { name: `${name}/link`, type: 'symlink', mode: 0o777, linkname: '../x' },
    { name: `${name}/again`, type: 'link', mode: 0o600, linkname: `${name}/file` },
    { name: `${name}/gone`, type: 'link', mode: 0o600, linkname: `${name}/mem/hidden` },
  );

describe('archives of a folder and of what is mounted in it', () => {
  it('are one, without what is hidden in the first', async () => {
    const long = 'l'.repeat(200);
    const part = await archiveOf(
      { name: 'mem', type: 'directory', mode: 0o1777 },
      { name: `mem/${long}`, mode: 0o644, text: 'part' },
      { name: 'mem/again', type: 'link', mode: 0o644, linkname: `mem/${long}` },
      { name: 'mem/null', type: 'character-device', mode: 0o666 },
    );
    const parts = [{ at: 'mem', open: () => pieces(part) }];
    const merged = mergeArchives({ name: 'src', base: pieces(await baseOf('src')), without: ['mem'], parts });
    expect(await listOf(merged)).toEqual([
      'src directory 755',
      'src/file file 600 base',
      'src/memory file 644 kept',
      'src/link symlink 777 ../x',
      'src/again link 600 src/file',
      'src/mem directory 1777',
      `src/mem/${long} file 644 part`,
      `src/mem/again link 644 src/mem/${long}`,
      'src/mem/null character-device 666',
    ]);
  });

  it('are one for the root directory, too', async () => {
    const part = await archiveOf({ name: 'b', type: 'directory', mode: 0o755 }, { name: 'b/x', mode: 0o644, text: 'part' });
    const merged = mergeArchives({
      name: '',
      base: pieces(await baseOf('')),
      without: ['mem', 'a/b'],
      parts: [{ at: 'a/b', open: () => pieces(part) }],
    });
    const names = (await listOf(merged)).map((line) => line.split(' ')[0]);
    expect(names).toEqual(['/', '/file', '/memory', '/link', '/again', '/a/b', '/a/b/x']);
  });

  it('fail with the one that fails, and end with their reader', async () => {
    let ended = false;
    async function* failing(): AsyncGenerator<Uint8Array> {
      try {
        yield await archiveOf({ name: 'mem', type: 'directory' });
        throw new Error('tar ended with exit code 2');
      } finally {
        ended = true;
      }
    }
    const merging = { name: 'src', base: pieces(await baseOf('src')), without: [], parts: [{ at: 'mem', open: failing }] };
    await expect(readAll(mergeArchives(merging))).rejects.toThrow('exit code 2');
    expect(ended).toBe(true);
  });

  it.each([
    ['in a file', 5e6],
    ['behind their end', 0],
  ])('are left with their reader %s', async (_, size) => {
    let left = false;
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        yield (await archiveOf({ name: 'src/big', text: 'x'.repeat(size) })).subarray(0, 512);
        for (;;) {
          await new Promise(setImmediate);
          yield Buffer.alloc(65_536);
        }
      } finally {
        left = true;
      }
    }
    for await (const _ of mergeArchives({ name: 'src', base: endless(), without: [], parts: [] })) break;
    await expect.poll(() => left, { timeout: 30_000 }).toBe(true);
  });
});

async function readAll(archive: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of archive);
}
