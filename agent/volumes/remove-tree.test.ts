import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { removeTree } from './remove-tree.ts';

let folder: string;
let tree: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-remove-'));
  tree = join(folder, 'tree');
  mkdirSync(join(folder, 'outside'));
  writeFileSync(join(folder, 'outside/precious'), 'kept');
});
afterEach(() => execFileSync('rm', ['-rf', folder]));

const shell = (script: string): void => void execFileSync('sh', ['-ec', script], { cwd: folder });
const openDescriptors = (): number => readdirSync('/proc/self/fd').length;

describe('a tree that containers made', () => {
  it('goes with files, folders, pipes and links, not with what links lead to', async () => {
    shell(
      'mkdir -p tree/a/b tree/c; echo x > tree/a/b/f; mkfifo tree/pipe; ln -s ../../outside tree/a/link; ln tree/a/b/f tree/hard',
    );
    symlinkSync(join(folder, 'outside'), join(tree, 'absolute'));
    const before = openDescriptors();
    await removeTree(tree);
    expect(openDescriptors()).toBe(before);
    expect(readdirSync(folder)).toEqual(['outside']);
    expect(readFileSync(join(folder, 'outside/precious'), 'utf8')).toBe('kept');
  });

  it('may be a file, a link, or gone', async () => {
    writeFileSync(tree, '');
    await removeTree(tree);
    symlinkSync('outside', tree);
    await removeTree(tree);
    await removeTree(tree);
    await removeTree(join(tree, 'inner'));
    expect(readdirSync(folder)).toEqual(['outside']);
    expect(readdirSync(join(folder, 'outside'))).toEqual(['precious']);
  });

  it('goes however deep it is, with paths that are longer than the kernel takes, and few descriptors', async () => {
    shell(
      'mkdir tree; cd tree; n=$(printf "%0200d" 0); i=0; while [ $i -lt 200 ]; do mkdir $n; cd -P ./$n; echo x > f; i=$((i+1)); done',
    );
    expect(() => rmSync(tree, { recursive: true })).toThrow('ENAMETOOLONG');
    const before = openDescriptors();
    let most = 0;
    const timer = setInterval(() => (most = Math.max(most, openDescriptors())));
    await removeTree(tree);
    clearInterval(timer);
    expect(most - before).toBeLessThan(100);
    expect(existsSync(tree)).toBe(false);
  });

  it('goes with a folder of very many files, a few of them at once', async () => {
    shell('mkdir -p tree/wide; cd tree/wide; seq 2000 | xargs touch');
    let most = 0;
    const timer = setInterval(() => (most = Math.max(most, process.getActiveResourcesInfo().length)));
    await removeTree(tree);
    clearInterval(timer);
    expect(existsSync(tree)).toBe(false);
    // `rm` of Node.js begins with all of them.
    expect(most).toBeLessThan(500);
  });

  it('never reaches outside while folders and links are swapped', async () => {
    shell(
      'mkdir tree; cd tree; for i in $(seq 40); do mkdir -p d$i/inner; for j in $(seq 20); do echo x > d$i/inner/precious$j; done; done',
    );
    let swapping = true;
    const swapper = (async () => {
      for (let n = 0; swapping; n = (n + 1) % 40) {
        try {
          renameSync(join(tree, `d${n + 1}`), join(folder, `aside${n}`));
          symlinkSync('../outside', join(tree, `d${n + 1}`));
        } catch {
          // Gone already.
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    for (let tries = 0; existsSync(tree) && tries < 50; tries++) await removeTree(tree).catch(() => {});
    swapping = false;
    await swapper;
    expect(readdirSync(join(folder, 'outside'))).toEqual(['precious']);
    expect(existsSync(tree)).toBe(false);
  });
});

describe('what cannot be removed', () => {
  it('is what is mounted in it, which stays as it is', async () => {
    mkdirSync(join(tree, 'a/mounted'), { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', 'berth-test', join(tree, 'a/mounted')]);
    try {
      writeFileSync(join(tree, 'a/mounted/precious'), '');
      await expect(removeTree(tree)).rejects.toMatchObject({ code: 'EBUSY' });
      expect(readdirSync(join(tree, 'a/mounted'))).toEqual(['precious']);
    } finally {
      execFileSync('umount', [join(tree, 'a/mounted')]);
    }
    await removeTree(tree);
    expect(existsSync(tree)).toBe(false);
  });
});
