import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { configNews, filesToCheck } from './scheduler-config-check.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-config-'));
const file = join(folder, 'scheduler.yaml');
writeFileSync(file, '');
afterAll(() => rmSync(folder, { recursive: true }));

describe("the scheduler's configuration that berth up looks at first", () => {
  const files = { given: undefined, before: '/before', next: '/before' };
  const given = { given: '/given', before: '/before', next: '/given' };

  it.each([
    ['the one that a server is started with', { kind: 'start' }, files, ['/before']],
    ['the one given', { kind: 'start' }, given, ['/given']],
    ['the one given, also while Berth runs', { kind: 'running', versions: [], isOtherBuild: false }, given, ['/given']],
    ['none while Berth runs and none is given', { kind: 'running', versions: [], isOtherBuild: false }, files, []],
    ['none when the last is taken away', { kind: 'start' }, { ...given, given: '', next: undefined }, []],
    ['both when a server is missing', { kind: 'mend', start: ['server'], rescue: [] }, given, ['/given', '/before']],
    ['the one given when an agent is missing', { kind: 'mend', start: ['agent'], rescue: [] }, given, ['/given']],
    ['the next at an upgrade', { kind: 'upgrade', from: '1' }, files, ['/before']],
  ] as const)('is %s', (_, plan, known, wanted) => {
    expect(filesToCheck(plan, known)).toEqual(wanted);
  });
});

describe("news of a running server's configuration", () => {
  const read = async () => {};
  const changedAt = statSync(file).ctimeMs;

  it('are none while the file is as it was, or while the start of the server is unknown', async () => {
    expect(await configNews(file, changedAt, read)).toBeUndefined();
    expect(await configNews(file, undefined, read)).toBeUndefined();
  });

  it('say that it has changed, and how it gets into force', async () => {
    expect(await configNews(file, changedAt - 1, read)).toEqual({
      news: `the scheduler's configuration ${file} has changed since the server started, and is read when it starts`,
      advice: 'berth down, then berth up; containers go on running meanwhile',
    });
  });

  it.each([
    ['a mistake in it', file, `${file}:1:1: is wrong`],
    ['that it is gone', join(folder, 'gone'), 'there is no such file'],
  ])('say %s, with which the server would not start again', async (_, path, message) => {
    const news = await configNews(path, changedAt - 1, async () => {
      throw new Error(message);
    });
    expect(news?.news).toContain(`could not start with it again: ${message}`);
    expect(news?.advice).toContain('mend the file');
  });
});
