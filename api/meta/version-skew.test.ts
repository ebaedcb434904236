import { expect, it } from 'vitest';
import { areTooFarApart } from './version-skew.ts';

it.each([
  ['0.3.1', '0.3.9', false],
  ['v0.3.0', '0.4.0', false],
  ['0.4.0', '0.3.2', false],
  ['0.5.0-rc.1', '0.4.9', false],
  ['0.5.0', '0.3.0', true],
  ['0.3.0', '0.5.0', true],
  ['1.0.0', '0.9.0', true],
  ['0.9.0', '0.10.0', false],
  ['devel', '0.3.0', false],
  ['', '0.3.0', false],
])('%s and %s are too far apart: %s', (one, other, apart) => {
  expect(areTooFarApart(one, other)).toBe(apart);
});
