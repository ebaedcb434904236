import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AuditFileOptions, openAuditFile } from './audit-file.ts';

let folder: string;
const warned: unknown[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-audit-'));
  warned.length = 0;
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const path = () => join(folder, 'logs', 'audit.log');
const openIt = (options: Partial<AuditFileOptions> = {}) =>
  openAuditFile({ path: path(), log: { warn: (each: unknown) => void warned.push(each) }, ...options });

describe('the file of the audit log', () => {
  it('has every line in order, for its owner alone, and goes on behind what is there', async () => {
    for (const part of ['a', 'b']) {
      const file = openIt();
      for (let i = 0; i < 3; i++) file.add(`{"line":"${part}${i}"}`);
      await file.close();
    }
    expect((await readFile(path(), 'utf8')).split('\n').filter(Boolean)).toHaveLength(6);
    expect((await stat(path())).mode & 0o777).toBe(0o600);
  });

  it('is put aside when it is full, and no more are kept than allowed', async () => {
    const file = openIt({ maxBytes: 100, keep: 3 });
    await file.close();
    for (let i = 0; i < 6; i++) {
      const each = openIt({ maxBytes: 100, keep: 3 });
      each.add(`{"line":"${'x'.repeat(80)}${i}"}`);
      await each.close();
    }
    expect((await readdir(join(folder, 'logs'))).length).toBeLessThanOrEqual(3);
  });

  it('says how many lines are missing when more come than can wait', async () => {
    const file = openIt({ maxWaitingBytes: 50 });
    for (let i = 0; i < 10; i++) file.add('0123456789012345678');
    await file.close();
    const lines = (await readFile(path(), 'utf8')).split('\n').filter(Boolean);
    expect(lines).toHaveLength(3);
    expect(JSON.parse(lines[2]!)).toMatchObject({ lost: 8 });
  });

  it('loses lines, not the process, where nothing can be written, and says so', async () => {
    await writeFile(join(folder, 'logs'), 'no folder');
    const file = openIt();
    file.add('{}');
    await file.close();
    expect(warned).toHaveLength(1);
    await chmod(folder, 0o700);
  });
});
