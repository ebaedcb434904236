import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { onStop } from './on-stop.ts';

it('tells all that wait, in their order, and those that have left no more, with one listener on the signal', () => {
  const stop = new AbortController();
  const told: string[] = [];
  const leaves = ['a', 'b', 'c', 'd'].map((name) => onStop(stop.signal, () => told.push(name)));
  expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1);
  leaves[1]!();
  onStop(stop.signal, () => leaves[3]!());
  onStop(stop.signal, () => told.push('e'));
  stop.abort();
  expect(told).toEqual(['a', 'c', 'd', 'e']);
});

it('forgets one that leaves because another was told', () => {
  const stop = new AbortController();
  const told: string[] = [];
  let leave = (): void => {};
  onStop(stop.signal, () => leave());
  leave = onStop(stop.signal, () => told.push('left'));
  stop.abort();
  expect(told).toEqual([]);
});

it('tells those of one signal apart from those of another', () => {
  const [one, other] = [new AbortController(), new AbortController()];
  const told: string[] = [];
  onStop(one.signal, () => told.push('one'));
  onStop(other.signal, () => told.push('other'));
  other.abort();
  expect(told).toEqual(['other']);
});
