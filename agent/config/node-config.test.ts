import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readNodeConfig } from './node-config.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-node-config-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));
const write = (text: string) => writeFile(join(folder, 'node.yaml'), text);

it('is empty without a file, and when the file holds nothing but comments', async () => {
  const nothing = await readNodeConfig(folder);
  expect(nothing).toMatchObject({ allowedUnsafeSysctls: [], staticPodPath: undefined });
  await write('# staticPodPath: /srv/pods\n');
  expect(await readNodeConfig(folder)).toEqual(nothing);
});

it('names the file and the place of what cannot be read', async () => {
  await write('staticPodPath: /srv\ndevices: [');
  await expect(readNodeConfig(folder)).rejects.toThrow(/node\.yaml: line 2, column \d+: /);
  await write(`devices: ${'['.repeat(100_000)}`);
  await expect(readNodeConfig(folder)).rejects.toThrow('node.yaml: line 1, column 1: it is nested more than 128 levels deep');
});

it('reads no more than 1 MiB', async () => {
  await symlink('/dev/zero', join(folder, 'node.yaml'));
  await expect(readNodeConfig(folder)).rejects.toThrow('node.yaml: it is larger than 1 MiB, too large for a file of settings');
});
