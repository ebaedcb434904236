import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openLogFile } from './log-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-log-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the log file', () => {
  it('never holds more than its bound over all files, and keeps the newest lines', () => {
    const file = join(folder, 'logs', 'agent.log');
    const log = openLogFile(file, { maxBytes: 100, keep: 3 });
    for (let i = 0; i < 200; i++) log.write(`line ${String(i).padStart(4, '0')}\n`);
    const files = readdirSync(join(folder, 'logs')).sort();
    expect(files).toEqual(['agent.log', 'agent.log.1', 'agent.log.2']);
    for (const name of files) expect(statSync(join(folder, 'logs', name)).size).toBeLessThanOrEqual(100);
    expect(readFileSync(file, 'utf8')).toContain('line 0199\n');
  });

  it('goes on where an earlier process stopped', () => {
    const file = join(folder, 'server.log');
    openLogFile(file, { maxBytes: 20, keep: 2 }).write('0123456789\n');
    openLogFile(file, { maxBytes: 20, keep: 2 }).write('abcdefghij\n');
    expect(readFileSync(file, 'utf8')).toBe('abcdefghij\n');
    expect(readFileSync(`${file}.1`, 'utf8')).toBe('0123456789\n');
  });

  it('loses lines and nothing else while its file cannot be made, and goes on when it can', () => {
    const file = join(folder, 'server.log');
    const log = openLogFile(file, { maxBytes: 20, keep: 2 });
    log.write('0123456789\n');
    // A folder in its place stands for a disk that is full: opening fails in the middle of putting the file aside.
    mkdirSync(join(`${file}.1`, 'in-the-way'), { recursive: true });
    log.write('abcdefghij\n');
    // What is opened now takes the number that the log's file had.
    const other = join(folder, 'other');
    const descriptor = openSync(other, 'a');
    log.write('klmnopqrst\n');
    closeSync(descriptor);
    expect(readFileSync(other, 'utf8')).toBe('');
    rmSync(`${file}.1`, { recursive: true });
    log.write('uvwxyz\n');
    expect(readFileSync(file, 'utf8')).toContain('uvwxyz\n');
  });
});
