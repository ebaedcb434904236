import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { installation } from '../paths.ts';
import { ownAuthority, tellOthers } from './down.ts';

it.each([
  ['of a server, for the installation’s own', ['ca.crt', 'ca.key'], 'text of ca.crt'],
  ['without its key, which a join that failed leaves, for another machine’s', ['ca.crt'], undefined],
  ['that is missing, for none', ['ca.key'], undefined],
])('takes an authority %s', (_, files, expected) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-down-'));
  const { pki } = installation(dataDir);
  mkdirSync(pki, { recursive: true });
  for (const file of files) writeFileSync(join(pki, file), `text of ${file}`);
  expect(ownAuthority(dataDir)).toBe(expected);
  rmSync(dataDir, { recursive: true });
});

it('names each other folder that Berth runs from once, and a command only where there is one', () => {
  expect(tellOthers('/a', [])).toBe('');
  expect(tellOthers('/a', ['/a', '/a'])).toBe('');
  expect(tellOthers('/a', ['/b', '/b'])).toBe(' One runs from /b: berth down --data-dir /b');
  expect(tellOthers('/a', ['/c', '/b', '/c'])).toBe(' 2 run from other folders (berth down --data-dir FOLDER): /b, /c');
});
