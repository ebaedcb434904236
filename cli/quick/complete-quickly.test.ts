import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { answer, type Lookup } from '../completion/answer.ts';
import { answerText } from '../completion/answer-lines.ts';
import { keepWords } from '../completion/answers-cache.ts';
import { cachePath } from '../completion/cache-path.ts';
import type { Wanted } from '../completion/question.ts';
import { completeQuickly } from './complete-quickly.ts';

const nothing = async (): Promise<never[]> => [];
const lookup: Lookup = {
  ...{ kinds: nothing, newestKinds: nothing, contexts: async () => ['far'], plugins: nothing, containers: async () => ['main'] },
  schema: async () => undefined,
  names: async () => ['web', 'worker', 'db'],
};
const resource = (...before: string[]): Wanted => ({ type: 'resource', before });

let folder: string;
const { BERTH_CONFIG, XDG_CACHE_HOME } = process.env;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-quick-'));
  process.env.BERTH_CONFIG = join(folder, 'config');
  process.env.XDG_CACHE_HOME = folder;
  writeFileSync(join(folder, 'config'), 'apiVersion: v1\n');
});
afterEach(() => {
  Object.assign(process.env, { BERTH_CONFIG, XDG_CACHE_HOME });
  if (BERTH_CONFIG === undefined) delete process.env.BERTH_CONFIG;
  if (XDG_CACHE_HOME === undefined) delete process.env.XDG_CACHE_HOME;
  rmSync(folder, { recursive: true, force: true });
});

/** What the whole program answers, and what it keeps of that. */
async function press(wanted: Wanted, current: string, prefix = ''): Promise<string> {
  const found = await answer({ wanted, current, prefix, flags: new Map() }, lookup);
  if (found.kept) keepWords({ path: cachePath('answers.json'), config: join(folder, 'config') }, ['place'], found.kept, 0);
  return answerText(found);
}

const quickly = (current: string, now = 1): string | undefined => completeQuickly(['__complete', '--', 'place', current], now);

it.each<[string, Wanted]>([
  ['types', resource()],
  ['names', resource('pods')],
  ['types before names', resource('pod/web')],
  ['names of a kind', { type: 'object', kind: 'Pod', before: ['db'], owners: ['Deployment'] }],
  ['containers', { type: 'container', pod: 'web' }],
  ['contexts', { type: 'context' }],
  ['components', { type: 'component' }],
  ['words', { type: 'words', words: [{ word: 'wide' }, { word: 'json', description: 'JSON' }] }],
  ['commands', { type: 'command', words: [{ word: 'get' }, { word: 'wait' }] }],
  ['files', { type: 'file' }],
])('a second press is answered as the first, whatever is typed by then: %s', async (_, wanted) => {
  for (const first of ['', 'w', 'd', 'p']) {
    rmSync(join(folder, 'berth'), { recursive: true, force: true });
    await press(wanted, first);
    for (const current of ['', 'p', 'po', 'w', 'web', 'd', 'f', 'm', 'g']) {
      const quick = quickly(current);
      if (quick !== undefined) expect([current, quick]).toEqual([current, await press(wanted, current)]);
    }
  }
  await press(wanted, '');
  expect(quickly('')).toBe(await press(wanted, ''));
});

it('names are kept for five seconds, types for five minutes', async () => {
  await press(resource('pods'), 'w');
  expect([quickly('w', 4_999), quickly('w', 5_000)]).toEqual(['web\nworker\n:\n', undefined]);
  await press(resource(), 'po');
  expect(quickly('po', 299_999)).toContain('pods\tPod\n');
  expect(quickly('po', 300_000)).toBeUndefined();
});

it.each<[string, Wanted, string, string]>([
  ['what fits nothing that is kept', resource(), 'po', 'netp'],
  ['a short name, which is no list of all types', resource(), 'netp', 'n'],
  ['a list', resource(), '', 'pods,'],
  ['TYPE/NAME', resource(), '', 'pod/'],
  ['a flag', { type: 'words', words: [{ word: '--all' }] }, '', '--'],
  ['fields', { type: 'field' }, '', 'p'],
])('%s is left to the whole program', async (_, wanted, first, current) => {
  await press(wanted, first);
  expect(quickly(current)).toBeUndefined();
});

it('the value behind a flag in the same word is no list for the place', async () => {
  await press(resource('pods'), 'w', '--flag=');
  expect(quickly('w')).toBeUndefined();
});

it('other words of the line than those of a completion are left to the whole program', async () => {
  await press(resource('pods'), '');
  for (const words of [[], ['__complete'], ['__complete', 'place', ''], ['get', '--', 'place', '']])
    expect(completeQuickly(words, 1)).toBeUndefined();
});
