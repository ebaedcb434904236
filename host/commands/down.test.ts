import { expect, it } from 'vitest';
import { tellOthers } from './down.ts';

it('names each other folder that Berth runs from once, and a command only where there is one', () => {
  expect(tellOthers('/a', [])).toBe('');
  expect(tellOthers('/a', ['/a', '/a'])).toBe('');
  expect(tellOthers('/a', ['/b', '/b'])).toBe(' One runs from /b: berth down --data-dir /b');
  expect(tellOthers('/a', ['/c', '/b', '/c'])).toBe(' 2 run from other folders (berth down --data-dir FOLDER): /b, /c');
});
