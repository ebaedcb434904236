import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFolderSizes, logUsage } from './disk-usage.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-sizes-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const page = 'x'.repeat(4096);

describe('the size of a writable layer', () => {
  it('is what its files take up, each counted once, links not followed', async () => {
    mkdirSync(join(folder, 'a/b'), { recursive: true });
    writeFileSync(join(folder, 'a/b/file'), page);
    linkSync(join(folder, 'a/b/file'), join(folder, 'again'));
    symlinkSync('/', join(folder, 'a/root'));
    const empty = mkdtempSync(join(tmpdir(), 'berth-sizes-'));
    mkdirSync(join(empty, 'a/b'), { recursive: true });
    const sizes = createFolderSizes(() => 0);
    await sizes.refresh(
      new Map([
        ['c1', folder],
        ['c2', empty],
      ]),
    );
    rmSync(empty, { recursive: true });
    expect(sizes.get('c1')!.bytes - sizes.get('c2')!.bytes).toBe(4096);
    expect(sizes.get('c1')!.files).toBe(5);
  });

  it('is counted again after a minute, and forgotten with its container', async () => {
    let now = 0;
    const sizes = createFolderSizes(() => now);
    const all = new Map([['c1', folder]]);
    const bytes = async () => {
      await sizes.refresh(all);
      return sizes.get('c1')!.bytes;
    };
    const first = await bytes();
    writeFileSync(join(folder, 'file'), page);
    now = 59_999;
    expect(await bytes()).toBe(first);
    now = 60_000;
    expect(await bytes()).toBe(first + 4096);
    await sizes.refresh(new Map());
    expect(sizes.get('c1')).toBeUndefined();
  });

  it('stays known of a folder for which a round had no time left, and is counted by the next', async () => {
    let now = 1_000_000;
    const sizes = createFolderSizes(() => now, 50, 100);
    const names = ['a', 'b', 'c'];
    for (const name of names) {
      mkdirSync(join(folder, name));
      for (let i = 0; i < 40; i++) writeFileSync(join(folder, name, String(i)), '');
    }
    const all = new Map(names.map((name) => [name, join(folder, name)]));
    const known = () => names.filter((name) => sizes.get(name) !== undefined).length;
    await sizes.refresh(all);
    expect(known()).toBe(2);
    for (let round = 0; round < 3; round++) {
      now += 60_000;
      await sizes.refresh(all);
      expect(known()).toBe(3);
    }
  });

  it('is not known of a folder with very many files, nor of one that is gone', async () => {
    for (let i = 0; i < 50; i++) writeFileSync(join(folder, String(i)), '');
    mkdirSync(join(folder, '1-small'));
    const sizes = createFolderSizes(() => 0, 50);
    await sizes.refresh(
      new Map([
        ['large', folder],
        ['small', join(folder, '1-small')],
        ['gone', join(folder, 'gone')],
      ]),
    );
    expect([sizes.get('large'), sizes.get('gone')]).toEqual([undefined, undefined]);
    expect(sizes.get('small')).toEqual({ bytes: expect.any(Number), files: 0 });
  });
});

describe('the size of a log', () => {
  it('has its rotated pieces in it, and is not known when there is none', () => {
    writeFileSync(join(folder, 'c-json.log'), page);
    writeFileSync(join(folder, 'c-json.log.1'), page);
    writeFileSync(join(folder, 'config.json'), page);
    expect(logUsage(join(folder, 'c-json.log'))).toEqual({ bytes: 8192, files: 2 });
    expect(logUsage(join(folder, 'none/c-json.log'))).toBeUndefined();
  });
});
