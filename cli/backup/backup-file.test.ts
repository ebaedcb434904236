import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BackupResponse } from '../../client/index.ts';
import { saveBackup } from './save-backup.ts';

let folder: string;
let isAsked: boolean;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-save-'));
  isAsked = false;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function* pieces(): AsyncGenerator<BackupResponse> {
  isAsked = true;
  yield { data: Buffer.from('whole'), objects: 3 };
}

const at = (...names: string[]): string => join(folder, ...names);

describe('what a backup is written into', () => {
  it('follows a symbolic link, also into another folder, and leaves it one', async () => {
    mkdirSync(at('elsewhere'));
    writeFileSync(at('elsewhere', 'backup'), 'earlier');
    symlinkSync('elsewhere/backup', at('link'));
    await saveBackup(pieces(), at('link'));
    expect(lstatSync(at('link')).isSymbolicLink()).toBe(true);
    expect(readFileSync(at('elsewhere', 'backup'), 'utf8')).toBe('whole');
    expect(statSync(at('elsewhere', 'backup')).mode & 0o777).toBe(0o600);
  });

  it('makes the file that a symbolic link points to', async () => {
    mkdirSync(at('elsewhere'));
    symlinkSync('elsewhere/backup', at('link'));
    await saveBackup(pieces(), at('link'));
    expect(lstatSync(at('link')).isSymbolicLink()).toBe(true);
    expect(readdirSync(at('elsewhere'))).toEqual(['backup']);
  });

  it('passes the bytes to a pipe, which stays one', async () => {
    execFileSync('mkfifo', [at('pipe')]);
    const [, read] = await Promise.all([saveBackup(pieces(), at('pipe')), readFile(at('pipe'), 'utf8')]);
    expect(read).toBe('whole');
    expect(lstatSync(at('pipe')).isFIFO()).toBe(true);
    expect(readdirSync(folder)).toEqual(['pipe']);
  });

  it('passes the bytes to the pipe of another program, which has no name in any folder', () => {
    const script = `${program} await saveBackup(pieces(1), process.argv[1]);`;
    const words = ['-c', '"$0" "$@" >(cat >"$OUT"); wait', process.execPath, ...fromSource, script];
    execFileSync('bash', words, { env: { ...process.env, OUT: at('out') } });
    expect(statSync(at('out')).size).toBe(100_000);
  });

  it('leaves a foreign file beside it alone', async () => {
    writeFileSync(at('backup.unfinished'), 'mine');
    await saveBackup(pieces(), at('backup'));
    expect(readFileSync(at('backup.unfinished'), 'utf8')).toBe('mine');
    expect(readdirSync(folder)).toEqual(['backup', 'backup.unfinished']);
  });

  it.each([
    ['a folder', 'folder', /^write .*\/folder: it is a folder; name a file in it$/],
    [
      'a file in a folder that is not there',
      'missing/backup',
      /^write .*\/backup: there is no folder .*\/missing; make it first$/,
    ],
    ['a folder that is not there', 'missing/', /^write .*\/missing\/: there is no folder .*\/missing\/; make it first$/],
  ])('refuses %s before the backup is made', async (_, name, message) => {
    mkdirSync(at('folder'));
    await expect(saveBackup(pieces(), `${folder}/${name}`)).rejects.toMatchObject({ message: expect.stringMatching(message) });
    expect(isAsked).toBe(false);
    expect(readdirSync(folder)).toEqual(['folder']);
  });
});

const fromSource = [
  '--import',
  new URL('../../test/conformance/storage-from-source.mjs', import.meta.url).href,
  '--input-type=module',
  '--eval',
];
/**
 * Where a test goes on in a process of its own; as in main, a reader of standard output that goes away is no failure.
 */
const program = `
  import { saveBackup } from ${JSON.stringify(new URL('./save-backup.ts', import.meta.url).href)};
  process.stdout.on('error', () => process.exit(0));
  async function* pieces(count) {
    for (let i = 0; i < count; i++) {
      yield { data: Buffer.alloc(100_000) };
      if (i === 10) process.stderr.write('far\\n');
      await new Promise((done) => setTimeout(done, 1));
    }
  }`;

function start(rest: string, ...args: string[]): ChildProcess {
  return spawn(process.execPath, [...fromSource, `${program} ${rest}`, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
}

describe('a backup that does not come to its end', () => {
  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('leaves nothing behind after %s, which ends it as ever', async (signal) => {
    writeFileSync(at('backup'), 'earlier');
    const child = start('await saveBackup(pieces(1e9), process.argv[1]);', at('backup'));
    await once(child.stderr!, 'data');
    expect(readdirSync(folder)).toHaveLength(2);
    child.kill(signal);
    expect(await once(child, 'exit')).toEqual([null, signal]);
    expect(readdirSync(folder)).toEqual(['backup']);
    expect(readFileSync(at('backup'), 'utf8')).toBe('earlier');
  });

  it('fails when the reader of standard output has gone away', async () => {
    const child = start(`
      const error = await saveBackup(pieces(1e9), '-').catch((reason) => reason);
      process.stderr.write(error.message);
      process.exitCode = 7;`);
    let said = '';
    child.stderr!.on('data', (text: Buffer) => {
      said += text.toString();
    });
    child.stdout!.once('data', () => child.stdout!.destroy());
    expect(await once(child, 'close')).toEqual([7, null]);
    expect(said).toContain('write standard output: its reader went away before the backup was whole');
  });
});
