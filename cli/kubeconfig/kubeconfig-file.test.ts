import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { changeKubeconfig, isReadByKubectl, kubeconfigPath, kubeconfigPaths } from './kubeconfig-file.ts';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-kubeconfig-'));
  path = join(folder, '.kube', 'config');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it('is the first file of KUBECONFIG, or that in the home folder', () => {
  expect(kubeconfigPath({ KUBECONFIG: ':/a/b:/c' }, '/home/joe')).toBe('/a/b');
  expect(kubeconfigPath({ KUBECONFIG: '' }, '/home/joe')).toBe('/home/joe/.kube/config');
  expect(kubeconfigPaths({ KUBECONFIG: ':/a/b:/c:/a/b' }, '/home/joe')).toEqual(['/a/b', '/c']);
  expect(isReadByKubectl('/c', { KUBECONFIG: ':/a/b:/c' }, '/home/joe')).toBe(true);
  expect(isReadByKubectl('/home/joe/.kube/config', { KUBECONFIG: '/c' }, '/home/joe')).toBe(false);
  expect(isReadByKubectl('/home/joe/.kube/config', {}, '/home/joe')).toBe(true);
});

it('is made with its folder, for its owner alone, and no lock stays', async () => {
  await changeKubeconfig(path, (text) => `${text}new`);
  expect(await readFile(path, 'utf8')).toBe('new');
  await chmod(path, 0o644);
  await changeKubeconfig(path, (text) => `${text}er`);
  expect(await readFile(path, 'utf8')).toBe('newer');
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(join(folder, '.kube'))).toEqual(['config']);
});

it('is written where a link leads', async () => {
  await mkdir(join(folder, '.kube'));
  await writeFile(join(folder, 'real'), 'old');
  await symlink(join(folder, 'real'), path);
  await changeKubeconfig(path, (text) => `${text}er`);
  expect(await readFile(join(folder, 'real'), 'utf8')).toBe('older');
  expect(await readdir(folder)).toEqual(['.kube', 'real']);
});

it('waits for the lock of kubectl, and changes nothing while it is held', async () => {
  await changeKubeconfig(path, () => 'old');
  await writeFile(`${path}.lock`, '');
  let waits = 0;
  const given = changeKubeconfig(
    path,
    () => 'new',
    async () => void waits++,
  );
  await expect(given).rejects.toThrow(`another program holds ${path}.lock; nothing was changed`);
  expect([waits, await readFile(path, 'utf8')]).toEqual([30, 'old']);
  expect(await readdir(join(folder, '.kube'))).toEqual(['config', 'config.lock']);
  await changeKubeconfig(
    path,
    () => 'new',
    () => rm(`${path}.lock`),
  );
  expect(await readFile(path, 'utf8')).toBe('new');
});

it('stays as it was, without a lock, when the change fails or the file is no text', async () => {
  await changeKubeconfig(path, () => 'old');
  const failing = changeKubeconfig(path, () => {
    throw new Error('broken');
  });
  await expect(failing).rejects.toThrow('broken');
  expect(await readFile(path, 'utf8')).toBe('old');
  await writeFile(path, Buffer.from([0xff, 0xfe]));
  await expect(changeKubeconfig(path, () => 'new')).rejects.toThrow(`cannot read ${path}: it is no text`);
  expect(await readFile(path)).toEqual(Buffer.from([0xff, 0xfe]));
  expect(await readdir(join(folder, '.kube'))).toEqual(['config']);
});
