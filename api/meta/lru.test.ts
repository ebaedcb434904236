import { expect, it } from 'vitest';
import { createLru } from './lru.ts';

it('lets go of what was not used for longest', () => {
  const kept = createLru<string>(2);
  kept.set('a', 'A');
  kept.set('b', 'B');
  kept.get('a');
  kept.set('c', 'C');
  expect([kept.get('a'), kept.get('b'), kept.get('c'), kept.size]).toEqual(['A', undefined, 'C', 2]);
});

it('bounds the weight of its values, also when one is replaced', () => {
  const kept = createLru<string>(5, (value) => value.length);
  kept.set('a', 'aa');
  kept.set('b', 'bb');
  kept.set('b', 'b');
  kept.set('c', 'cc');
  expect(kept.size).toBe(3);
  kept.set('d', 'dddd');
  expect([kept.get('a'), kept.get('b'), kept.get('c'), kept.get('d')]).toEqual([undefined, undefined, undefined, 'dddd']);
});
