import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const room = fileURLToPath(new URL('.', import.meta.url));
const main = readFileSync(join(room, 'main.ts'), 'utf8');
/** What main.ts lists, with the file that it is from. */
const listed = [...main.matchAll(/^import \{ (\w+) \} from '\.\/([\w-]+\/[\w-]+)\.ts';$/gm)].map(([, name = '', file = '']) => ({
  name,
  file,
}));

it('lists the controller of each folder that has one', () => {
  const folders = readdirSync(room).filter((name) => existsSync(join(room, name, 'controller.ts')));
  expect(folders.length).toBeGreaterThan(30);
  expect(folders.filter((folder) => !listed.some(({ file }) => file === `${folder}/controller`))).toEqual([]);
});

it.each(listed)(
  'has one line for $name, which no other file names: a controller is its folder and that line',
  ({ name, file }) => {
    expect([...main.matchAll(new RegExp(`^  ${name},$`, 'gm'))]).toHaveLength(1);
    const others = readdirSync(room, { recursive: true, encoding: 'utf8' })
      .filter((each) => each.endsWith('.ts') && !each.endsWith('.test.ts') && each !== 'main.ts' && each !== `${file}.ts`)
      .filter((each) =>
        new RegExp(`import \\{[^}]*\\b${name}\\b[^}]*\\} from '[./]*${file}\\.ts'`).test(readFileSync(join(room, each), 'utf8')),
      );
    expect(others).toEqual([]);
  },
);
