import { mkdir, mkdtemp, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Header, pack } from 'tar-stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unpack } from './download.ts';

let folder: string;
let out: string;
let warnings: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-cp-'));
  out = join(folder, 'inner', 'out');
  warnings = [];
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/**
 * Unpacks an archive of the directory "src" into `out`. Names that end in "/" are directories,
 * entries with `link` are symbolic links.
 */
async function copy(
  ...entries: readonly { readonly name: string; readonly link?: string; readonly text?: string }[]
): Promise<void> {
  const archive = pack();
  for (const { name, link, text = '' } of entries) {
    const type: Header['type'] = link !== undefined ? 'symlink' : name.endsWith('/') ? 'directory' : 'file';
    archive.entry({ name: `src/${name}`, type, ...(link !== undefined && { linkname: link }) }, text);
  }
  archive.finalize();
  const source = { name: 'src', type: 'directory' };
  await unpack(source, archive as AsyncIterable<Buffer>, out, { preserve: false, warn: (message) => warnings.push(message) });
}

describe('unpacking an archive from a container', () => {
  it('creates files, and links that stay inside the target', async () => {
    await copy({ name: 'a/' }, { name: 'a/text', text: 'hello' }, { name: 'a/b/up', link: '../text' });
    expect(await readFile(join(out, 'a/b/up'), 'utf8')).toBe('hello');
    expect(warnings).toEqual([]);
  });

  it.each(['../evil', '/evil', '..', '', 'a/../../evil'])('refuses a file that the node names "%s"', async (name) => {
    const archive = pack();
    archive.entry({ name: 'evil' }, 'evil');
    archive.finalize();
    await mkdir(out, { recursive: true });
    const options = { preserve: false, warn: () => {} };
    const copied = unpack({ name, type: 'file' }, archive as AsyncIterable<Buffer>, out, options);
    await expect(copied).rejects.toThrow('which is no name of a file');
    await expect(readFile(join(folder, 'inner', 'evil'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it.each([
    { why: 'an absolute link', name: 'a', link: '/etc' },
    { why: 'a link that leads up too far', name: 'a/b', link: '../../x' },
    { why: 'a link with ".." behind a name', name: 'a/b', link: 'c/../../../x' },
  ])('skips $why', async ({ name, link }) => {
    await copy({ name, link });
    expect(warnings).toHaveLength(1);
    await expect(readlink(join(out, name))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('skips a file whose name leads out of the target', async () => {
    await copy({ name: '../x', text: 'evil' });
    expect(warnings).toHaveLength(1);
    await expect(readFile(join(folder, 'inner', 'x'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('writes nothing outside the target through a link behind another link, also when it is copied again', async () => {
    // By its name "p/q/a/b/c" is four directories deep; behind the link "p/q/a" it is only two.
    const archive = [{ name: 'x/' }, { name: 'p/q/a', link: '../../x' }, { name: 'p/q/a/b/c', link: '../../../..' }];
    await copy(...archive);
    await copy({ name: 'x/b/c/out-of-it', text: 'evil' });
    await expect(readFile(join(folder, 'out-of-it'))).rejects.toMatchObject({ code: 'ENOENT' });
    expect(warnings).toEqual([expect.stringContaining('skipped link "p/q/a/b/c"')]);
  });
});
