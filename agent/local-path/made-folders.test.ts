import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createMadeFolders, rootMarker } from './made-folders.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'berth-made-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** What is mounted goes when it is unmounted, unless it sticks. */
function foldersIn(name: string, mounted: string[] = [], sticks = false) {
  const mounts = {
    list: async () => [...mounted],
    unmount: async (path: string) => void (sticks || mounted.splice(mounted.indexOf(path), 1)),
  };
  const root = join(dir, name);
  return { root, ...createMadeFolders({ nodeDir: dir, root, mounts }) };
}

describe('a folder that is a volume', () => {
  it('is made when it is first used, for every user, and is left as it is from then on', async () => {
    const { root, ensure } = foldersIn('volumes');
    const path = join(root, 'pvc-1_default_c');
    await Promise.all([ensure(path), ensure(path)]);
    expect((await stat(path)).mode & 0o7777).toBe(0o777);
    await writeFile(join(path, 'file'), 'kept');
    await ensure(path);
    expect(await readFile(join(path, 'file'), 'utf8')).toBe('kept');
    expect((await stat(root)).mode & 0o7777).toBe(0o700);
  });

  it('is removed with all that is in it and nothing that links in it lead to; its neighbours stay', async () => {
    const { root, ensure, remove } = foldersIn('volumes');
    const [path, other] = [join(root, 'a'), join(root, 'b')];
    await ensure(path);
    await ensure(other);
    await mkdir(join(dir, 'precious'));
    await writeFile(join(dir, 'precious/file'), 'x');
    await symlink(join(dir, 'precious'), join(path, 'link'));
    await writeFile(join(path, 'file'), 'x');
    await remove(path);
    await remove(path);
    expect((await readdir(root)).toSorted()).toEqual([rootMarker, 'b']);
    expect(existsSync(join(dir, 'precious/file'))).toBe(true);
  });

  it('that is a link is not used, and removed without what it leads to', async () => {
    const { root, ensure, remove } = foldersIn('volumes');
    await ensure(join(root, 'a'));
    await mkdir(join(dir, 'precious'));
    await symlink(join(dir, 'precious'), join(root, 'link'));
    await expect(ensure(join(root, 'link'))).rejects.toThrow('is not a directory');
    await remove(join(root, 'link'));
    expect(existsSync(join(dir, 'precious'))).toBe(true);
  });

  it('is removed only when nothing is mounted in it any more', async () => {
    const mounted: string[] = [];
    const { root, ensure, remove } = foldersIn('volumes', mounted);
    const path = join(root, 'a');
    await ensure(path);
    mounted.push(join(path, 'outer'), join(path, 'outer/inner'), join(root, 'ab'));
    await remove(path);
    expect(mounted).toEqual([join(root, 'ab')]);
    expect(existsSync(path)).toBe(false);
    await ensure(path);
    const sticky = foldersIn('volumes', [join(path, 'outer')], true);
    await expect(sticky.remove(path)).rejects.toThrow('is still mounted');
    expect(existsSync(path)).toBe(true);
  });

  it.each(['relative/a', '/a/../b', '/a/b/', '', '/a/./b', '/a\0b', `/a/${rootMarker}`])('is never %j', async (path) => {
    const { ensure, remove } = foldersIn('volumes');
    await expect(ensure(path)).rejects.toThrow('not the path of a volume');
    await expect(remove(path)).rejects.toThrow('not the path of a volume');
  });

  it('is never in a folder that is not for volumes', async () => {
    const { ensure, remove, root } = foldersIn('volumes');
    await mkdir(join(dir, 'precious/a'), { recursive: true });
    await expect(remove(join(dir, 'precious/a'))).rejects.toThrow('is none in which this agent makes volumes');
    await expect(ensure(join(dir, 'precious/b'))).rejects.toThrow('is none in which this agent makes volumes');
    await ensure(join(root, 'a'));
    await expect(remove(root)).rejects.toThrow('is none in which');
    expect(await readdir(join(dir, 'precious'))).toEqual(['a']);
  });

  it('stays usable where it is when new ones are made elsewhere', async () => {
    const former = foldersIn('former');
    await former.ensure(join(former.root, 'a'));
    const { ensure, remove } = foldersIn('now');
    await ensure(join(former.root, 'a'));
    await remove(join(former.root, 'a'));
    expect(await readdir(former.root)).toEqual([rootMarker]);
  });

  it('is neither made anew nor taken for removed while its disk is not mounted', async () => {
    const { root, ensure, remove } = foldersIn('volumes');
    await ensure(join(root, 'a'));
    await rm(root, { recursive: true });
    await expect(ensure(join(root, 'a'))).rejects.toThrow(`has lost the file ${rootMarker}: mount its disk`);
    await expect(remove(join(root, 'a'))).rejects.toThrow('mount its disk');
    await mkdir(root);
    await expect(ensure(join(root, 'a'))).rejects.toThrow('mount its disk');
    await writeFile(join(root, rootMarker), '');
    await ensure(join(root, 'a'));
  });

  it('counts as removed when it was never used', async () => {
    const { root, remove } = foldersIn('volumes');
    await remove(join(root, 'a'));
    expect(existsSync(root)).toBe(false);
  });
});
