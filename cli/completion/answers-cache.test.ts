import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type AnswersCache, keepWords, longestMs, readKeptWords } from './answers-cache.ts';

const kept = { words: [{ word: 'web', description: 'Pod' }], glued: false, files: false };
const place = ['get', 'pods'];

let folder: string;
let cache: AnswersCache;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-answers-'));
  cache = { path: join(folder, 'cache', 'answers.json'), config: join(folder, 'config') };
  writeFileSync(cache.config, 'apiVersion: v1\n');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('words are kept for their time and place, in a file that only its owner may read', () => {
  keepWords(cache, place, { ...kept, forMs: 5_000 }, 1_000);
  expect(readKeptWords(cache, place, 5_999)).toMatchObject(kept);
  expect(readKeptWords(cache, place, 6_000)).toBeUndefined();
  expect(readKeptWords(cache, ['get', 'nodes'], 1_000)).toBeUndefined();
  expect(readKeptWords(cache, ['get pods'], 1_000)).toBeUndefined();
  expect(statSync(cache.path).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(folder, 'cache'))).toEqual(['answers.json']);
});

it('a change of the contexts file, or another one, makes all words unknown', () => {
  keepWords(cache, place, { ...kept, forMs: longestMs }, 0);
  const other = join(folder, 'other');
  writeFileSync(other, 'apiVersion: v1\n');
  expect(readKeptWords({ ...cache, config: other }, place, 0)).toBeUndefined();
  writeFileSync(cache.config, 'apiVersion: v2\n\n');
  expect(readKeptWords(cache, place, 0)).toBeUndefined();
  rmSync(cache.config);
  keepWords(cache, place, { ...kept, forMs: longestMs }, 0);
  expect(readKeptWords(cache, place, 0)).toBeUndefined();
});

it('words of a clock that was wrong count as none', () => {
  keepWords(cache, place, { ...kept, forMs: longestMs }, 10 * longestMs);
  expect(readKeptWords(cache, place, 0)).toBeUndefined();
});

it('the newest twenty places are kept, each once, and no file beyond 256 KiB', () => {
  for (let index = 0; index < 30; index++) keepWords(cache, [`place-${index % 25}`], { ...kept, forMs: 5_000 }, index);
  expect(JSON.parse(readFileSync(cache.path, 'utf8'))).toHaveLength(20);
  expect(readKeptWords(cache, ['place-4'], 30)).toBeDefined();
  expect(readKeptWords(cache, ['place-9'], 30)).toBeUndefined();
  const before = statSync(cache.path).size;
  keepWords(cache, place, { ...kept, words: [{ word: 'x'.repeat(300_000) }], forMs: 5_000 }, 30);
  expect(statSync(cache.path).size).toBe(before);
});

it.each(['', '{', '{}', '[null, 1, {"of": 1}]', '[{"of":"x","until":1,"words":[{"word":1}]}]', `["${'x'.repeat(300_000)}"]`])(
  'a file that holds something else is read as none, and written anew (%.50s)',
  (text) => {
    mkdirSync(join(folder, 'cache'));
    writeFileSync(cache.path, text);
    expect(readKeptWords(cache, place, 0)).toBeUndefined();
    keepWords(cache, place, { ...kept, forMs: 5_000 }, 0);
    expect(readKeptWords(cache, place, 0)).toMatchObject(kept);
  },
);

it('does without where no file can be written', () => {
  writeFileSync(join(folder, 'cache'), 'in the way');
  keepWords(cache, place, { ...kept, forMs: 5_000 }, 0);
  expect(readKeptWords(cache, place, 0)).toBeUndefined();
});
