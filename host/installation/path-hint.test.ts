import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { pathHint } from './path-hint.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-path-'));
writeFileSync(join(folder, 'berth'), '');
afterAll(() => rmSync(folder, { recursive: true }));

describe('path hint', () => {
  it('says how the shell finds berth when no folder of PATH has it', () => {
    expect(pathHint('/src/berth/bin/berth', '/nowhere:/also-nowhere')).toEqual([
      '',
      'So that your shell finds berth: export PATH="/src/berth/bin:$PATH"',
    ]);
  });

  it('says nothing when the shell finds it already', () => {
    expect(pathHint('/src/berth/bin/berth', `/nowhere:${folder}`)).toEqual([]);
  });
});
