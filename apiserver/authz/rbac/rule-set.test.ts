import { expect, it } from 'vitest';
import { rule } from '../../../test/fakes/role-world.ts';
import type { Attributes } from '../attributes.ts';
import { RuleSet } from './rule-set.ts';

const ask = (more: Partial<Attributes>): Attributes => ({
  ...{ verb: 'get', group: '', resource: 'pods', subresource: '', namespace: 'team', name: 'web' },
  ...more,
});

/** How many texts the set holds for arbitrary questions. */
function remembered(set: RuleSet): { readonly count: number; readonly longest: number } {
  const tables = Object.values(set).filter((each): each is Map<string, unknown> => each instanceof Map && each !== set.rules);
  const keys = tables.flatMap((table) => [...table.keys()]);
  return { count: keys.length, longest: Math.max(...keys.map((key) => key.length)) };
}

it('remembers a bounded number of questions, whatever is asked', () => {
  const set = new RuleSet(new Map([['team', [rule('get pods')]]]));
  for (let i = 0; i < 5_000; i++) expect(set.allows(ask({ namespace: `n${i}` }))).toBe(false);
  expect(set.allows(ask({}))).toBe(true);
  expect(remembered(set).count).toBeLessThanOrEqual(1_001);
});

it('answers questions as long as a message, and remembers none', () => {
  const long = 'x'.repeat(100_000);
  const set = new RuleSet(new Map([['', [rule(`get ${long}`), rule('get secrets', { resourceNames: [long] })]]]));
  for (const more of [{ namespace: long }, { verb: long }, { subresource: long }]) expect(set.allows(ask(more))).toBe(false);
  expect(set.allows(ask({ resource: long }))).toBe(true);
  const named = { resource: 'secrets', namespace: long };
  expect([set.allows(ask({ ...named, name: long })), set.allows(ask(named))]).toEqual([true, false]);
  expect(set.allows(ask({ resource: 'secrets', name: long }))).toBe(true);
  expect(remembered(set).longest).toBeLessThanOrEqual(512);
});
