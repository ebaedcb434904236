import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const room = fileURLToPath(new URL('.', import.meta.url));
const sources = readdirSync(room, { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
);
const plugins = sources.flatMap((name) => /^plugins\/([\w-]+)\.ts$/.exec(name)?.[1] ?? []);

it.each(plugins)('the plugin %s is its file, and is listed in one other', (name) => {
  const imported = new RegExp(`^import \\{[^}]*\\} from '\\./plugins/${name}\\.ts';$`, 'm');
  const listing = sources.filter((source) => imported.test(readFileSync(join(room, source), 'utf8')));
  expect(listing).toEqual([name === 'default-binder' ? 'main.ts' : 'profile.ts']);
});
