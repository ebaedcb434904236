import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { loadProgram } from './code-cache.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-program-'));
  writeFileSync(
    join(folder, 'berth.js'),
    'exports.answer = require("./part-abcd1234.js").twice(21); exports.path = require("node:path").sep;',
  );
  writeFileSync(join(folder, 'part-abcd1234.js'), 'exports.twice = (n) => 2 * n; exports.again = require("./berth.js");');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const cached = (): string[] => {
  const versions = existsSync(join(folder, 'cache')) ? readdirSync(join(folder, 'cache')) : [];
  return versions.flatMap((version) => readdirSync(join(folder, 'cache', version)));
};

it('loads files that need each other, and what Node itself has', () => {
  for (let run = 0; run < 2; run++) {
    const program = loadProgram(folder, 'berth.js');
    expect(program.exports).toEqual({ answer: 42, path: '/' });
    program.saveCache();
  }
});

it('keeps the code of files that are named by their content, and no other', () => {
  loadProgram(folder, 'berth.js').saveCache();
  expect(cached()).toEqual(['part-abcd1234.js']);
});

it('leaves nothing behind in the program of another user', () => {
  loadProgram(folder, 'berth.js', (process.getuid?.() ?? 0) + 1).saveCache();
  expect(cached()).toEqual([]);
});
