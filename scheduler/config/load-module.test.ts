import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { importBeside } from './load-module.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-modules-'));
const config = join(folder, 'team', 'scheduler.yaml');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function write(path: string, text: string | object): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), typeof text === 'string' ? text : JSON.stringify(text));
}
const says = (what: string) => `export default '${what}';`;

beforeAll(() => {
  write('team/package.json', { name: 'team', exports: { '.': { types: './x.d.ts', import: './own.mjs' } } });
  write('team/own.mjs', says('own'));
  write('team/old.cjs', "module.exports = 'old';");
  write('team/compiled.cjs', "Object.defineProperty(exports, '__esModule', { value: true }); exports.default = 'compiled';");
  write('above.mjs', says('above'));
  write('node_modules/main/package.json', { main: './lib/index.mjs' });
  write('node_modules/main/lib/index.mjs', says('main'));
  write('node_modules/@scope/modern/package.json', {
    name: '@scope/modern',
    exports: { types: './x.d.ts', import: './index.mjs' },
  });
  write('node_modules/@scope/modern/index.mjs', says('modern'));
  write('team/node_modules/parts/package.json', {
    exports: { './sub': { node: { import: './sub.mjs' } }, './whole': './whole.mjs' },
  });
  write('team/node_modules/parts/sub.mjs', says('sub'));
  write('team/node_modules/parts/whole.mjs', says('whole'));
  write('team/throws.mjs', "throw new TypeError('out of paint');");
  write('team/awaits.mjs', 'await 1;');
  write('team/needs.mjs', "import 'nobody-has-this';");
});

describe('a module beside a configuration', () => {
  it.each([
    ['./own.mjs', 'own'],
    ['../above.mjs', 'above'],
    ['./old.cjs', 'old'],
    ['./compiled.cjs', 'compiled'],
    [join(folder, 'above.mjs'), 'above'],
    ['main', 'main'],
    ['@scope/modern', 'modern'],
    ['parts/sub', 'sub'],
    ['parts/whole', 'whole'],
    ['team', 'own'],
  ])('is found as node would find it from there: %s', async (specifier, what) => {
    expect((await importBeside(specifier, config)).default).toBe(what);
  });

  it.each([
    ['nobody', `there is no such package in node_modules of ${join(folder, 'team')} or above`],
    ['parts/other', "Package subpath './other' is not defined"],
    ['./gone.mjs', `there is no file ${join(folder, 'team', 'gone.mjs')}`],
    ['.', 'there is no such package'],
    ['./node_modules', 'is a folder: name the file in it'],
    ['./throws.mjs', 'TypeError: out of paint ('],
    ['./awaits.mjs', 'awaits something while it is loaded'],
    ['./needs.mjs', 'nobody-has-this'],
  ])('is missed with the reason: %s', async (specifier, why) => {
    await expect(importBeside(specifier, config)).rejects.toThrow(why);
  });
});
