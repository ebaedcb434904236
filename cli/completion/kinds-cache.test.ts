import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { kindsCachePath, readKindsCache, writeKindsCache } from './kinds-cache.ts';

const server = { address: '127.0.0.1:7550', ca: 'an authority' };
const toy = { apiVersion: 'g.io/v1', kind: 'Toy', plural: 'toys', singular: 'toy', shortNames: ['ty'], namespaced: true };
const minutes = 60_000;

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-kinds-'));
  path = join(folder, 'berth', 'kinds.json');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('kinds are kept for ten minutes, in a file that only its owner may read', async () => {
  await writeKindsCache(server, [toy], 0, path);
  expect(await readKindsCache(server, 10 * minutes - 1, path)).toEqual([toy]);
  expect(await readKindsCache(server, 10 * minutes, path)).toBeUndefined();
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

it('kinds of another address or authority, or from the future, are none', async () => {
  await writeKindsCache(server, [toy], minutes, path);
  expect(await readKindsCache({ ...server, address: '127.0.0.1:7551' }, minutes, path)).toBeUndefined();
  expect(await readKindsCache({ ...server, ca: 'another' }, minutes, path)).toBeUndefined();
  expect(await readKindsCache(server, minutes - 1, path)).toBeUndefined();
});

it.each(['', '{', 'null', '[]', '{"kinds":[]}'])('a file that holds %j is none', async (text) => {
  await writeKindsCache(server, [], 0, path);
  writeFileSync(path, text);
  expect(await readKindsCache(server, 0, path)).toBeUndefined();
});

it.each([{}, null, 'toys', { ...toy, plural: 1 }, { ...toy, shortNames: 'ty' }, { ...toy, shortNames: [1] }])(
  'a file with %j among the kinds is none',
  async (kind) => {
    await writeKindsCache(server, [toy, kind as object], 0, path);
    expect(await readKindsCache(server, 0, path)).toBeUndefined();
  },
);

it('a place that cannot be written, or that has no file, fails nothing', async () => {
  writeFileSync(join(folder, 'berth'), '');
  await writeKindsCache(server, [toy], 0, path);
  expect(await readKindsCache(server, 0, path)).toBeUndefined();
});

it('the place is that of the user for caches', () => {
  expect(kindsCachePath({ XDG_CACHE_HOME: '/a' })).toBe('/a/berth/kinds.json');
  expect(kindsCachePath({ XDG_CACHE_HOME: 'a' })).toMatch(/\/\.cache\/berth\/kinds\.json$/);
  expect(kindsCachePath({})).toMatch(/\/\.cache\/berth\/kinds\.json$/);
});
