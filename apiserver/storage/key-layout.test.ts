import { expect, it } from 'vitest';
import { groupOf, keyPrefixOf } from '../../api/kinds/identity.ts';
import { kinds } from '../../api/kinds/index.ts';
import { presentKey } from './key-layout.ts';

/** Groups that came with layout 2: layout 1 had no keys of their kinds. */
const later = ['batch', 'autoscaling'];
const earlier = kinds.filter(({ apiVersion }) => !later.includes(groupOf(apiVersion)));

it.each(earlier.map((kind) => [kind.plural, kind] as const))('keys of %s are those of the kind', (plural, kind) => {
  expect(presentKey(`${plural}/a/b`)).toBe(`${keyPrefixOf(kind)}a/b`);
  // A second time changes nothing.
  expect(presentKey(presentKey(`${plural}/a/b`))).toBe(`${keyPrefixOf(kind)}a/b`);
});

it.each(['server/start', 'leases', 'constructor/x', '', '/'])('key "%s" of no kind stays as it is', (key) => {
  expect(presentKey(key)).toBe(key);
});
