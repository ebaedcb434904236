import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BackupResponse } from '../../client/index.ts';
import { showRestored } from '../../host/restore/show-restored.ts';
import { saveBackup } from './save-backup.ts';

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-save-'));
  file = join(folder, 'backup');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function* pieces(failure?: Error): AsyncGenerator<BackupResponse> {
  yield { data: Buffer.from('one '), totalBytes: 6, resourceVersion: '17' };
  yield { data: Buffer.from('two') };
  if (failure) throw failure;
  yield { data: Buffer.from('.'), objects: 3 };
}

describe('saving a backup', () => {
  it('writes the pieces into a file that only its owner may read', async () => {
    expect(await saveBackup(pieces(), file)).toEqual({ resourceVersion: '17', objects: 3, bytes: 8 });
    expect(readFileSync(file, 'utf8')).toBe('one two.');
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('replaces an earlier one, and only its owner can read the new one', async () => {
    writeFileSync(file, 'earlier');
    chmodSync(file, 0o644);
    await saveBackup(pieces(), file);
    expect(readFileSync(file, 'utf8')).toBe('one two.');
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('leaves an earlier one as it was when it fails half-way, and nothing else', async () => {
    writeFileSync(file, 'earlier');
    await expect(saveBackup(pieces(new Error('the line broke')), file)).rejects.toThrow('the line broke');
    expect(readFileSync(file, 'utf8')).toBe('earlier');
    expect(readdirSync(folder)).toEqual(['backup']);
  });
});

it('says on a terminal how much of a backup has been restored, and takes the line away at the end', async () => {
  const shown: string[] = [];
  const progress = { show: (text: string) => void shown.push(text), clear: () => void shown.push('') };
  let now = 0;
  async function* bytes(): AsyncGenerator<Buffer> {
    for (let i = 0; i < 3; i++) yield Buffer.alloc(1024 * 1024);
  }
  let length = 0;
  for await (const piece of showRestored(bytes(), 3 * 1024 * 1024, progress, () => (now += 100))) length += piece.length;
  expect(length).toBe(3 * 1024 * 1024);
  expect(shown[0]).toBe('restored 1 of 3 MiB');
  expect(shown.at(-1)).toBe('');
});
