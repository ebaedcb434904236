import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createManifestFolder } from './folder.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-manifests-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const put = (name: string, content: string | Uint8Array) => writeFile(join(folder, name), content);
const read = async () =>
  [...(await createManifestFolder(folder).read())].map(([file, found]) => [file.slice(folder.length + 1), found]);

describe('the folder of manifests', () => {
  it('holds files of any name in order, links to files too, but no folders and nothing that begins with a dot', async () => {
    await Promise.all([put('b.yaml', 'b'), put('a', 'a'), put('.b.yaml.swp', 'x'), mkdir(join(folder, 'deeper'))]);
    await symlink(join(folder, 'a'), join(folder, 'c.json'));
    expect(await read()).toEqual([
      ['a', { text: 'a' }],
      ['b.yaml', { text: 'b' }],
      ['c.json', { text: 'a' }],
    ]);
  });

  it('says of each file why it is no manifest, and gives the others', async () => {
    await Promise.all([put('big', 'x'.repeat(1024 * 1024 + 1)), put('bytes', Uint8Array.of(0xff, 0xfe, 0xfd)), put('good', 'a')]);
    await symlink('/dev/null', join(folder, 'device'));
    expect(await read()).toEqual([
      ['big', { problem: `${join(folder, 'big')}: is larger than 1 MiB, too large for a pod` }],
      ['bytes', { problem: `${join(folder, 'bytes')}: is no text; a manifest is YAML or JSON in UTF-8` }],
      ['device', { problem: `${join(folder, 'device')}: is no file that holds a manifest` }],
      ['good', { text: 'a' }],
    ]);
  });

  it('may be a single file, and holds nothing while it is not there', async () => {
    await put('one', 'a');
    expect([...(await createManifestFolder(join(folder, 'one')).read())]).toEqual([[join(folder, 'one'), { text: 'a' }]]);
    expect((await createManifestFolder(join(folder, 'none')).read()).size).toBe(0);
  });

  it('that cannot be read is no empty one', async () => {
    await put('one', 'a');
    await expect(createManifestFolder(join(folder, 'one', 'below')).read()).rejects.toThrow('ENOTDIR');
  });

  it('tells of changes until it is moved away, or the reader stops', async () => {
    const watched = join(folder, 'watched');
    await mkdir(watched);
    let changed = () => {};
    const next = () =>
      new Promise<void>((resolve) => {
        changed = resolve;
      });
    const stop = new AbortController();
    const started = next();
    const followed = createManifestFolder(watched).follow(() => changed(), stop.signal);
    await started;
    const told = next();
    await writeFile(join(watched, 'a'), 'a');
    await told;
    await rename(watched, join(folder, 'moved'));
    await followed;
    const again = createManifestFolder(folder).follow(() => {}, stop.signal);
    stop.abort();
    await again;
  });
});
