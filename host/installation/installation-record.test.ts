import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readRecord, restoreRecord, writeRecord } from './installation-record.ts';

let folder: string;
let dataDir: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-record-'));
  dataDir = join(folder, 'made', 'data');
});
afterEach(() => rmSync(folder, { recursive: true }));

const told = { listen: '127.0.0.1:7443', nodeName: 'web', metricsAddress: '127.0.0.1:8080' };
const madeFolder = (): string => join(folder, 'made');

it('forgets what a first start was told that failed, but not which folder it made', () => {
  writeRecord(dataDir, told);
  expect(readRecord(dataDir)).toEqual({ ...told, madeFolder: madeFolder() });
  restoreRecord(dataDir, undefined);
  expect(readRecord(dataDir)).toBeUndefined();
  writeRecord(dataDir, { ...told, metricsAddress: 'off' });
  expect(readRecord(dataDir)).toEqual({ ...told, metricsAddress: 'off', madeFolder: madeFolder() });
});

it('goes back to what the start before was told', () => {
  const before = { listen: '127.0.0.1:7443', nodeName: 'web' };
  writeRecord(dataDir, before);
  const recorded = readRecord(dataDir);
  writeRecord(dataDir, told);
  restoreRecord(dataDir, recorded);
  expect(readRecord(dataDir)).toEqual({ ...before, madeFolder: madeFolder() });
});
