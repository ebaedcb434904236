import { expect, it } from 'vitest';
import { pod } from '../../test/builders/index.ts';
import type { QueueItem } from '../framework/plugin.ts';
import { podInfo } from '../framework/pod-info.ts';
import { prioritySort } from './priority-sort.ts';

const item = (priority: number, queuedAt: number, sequence: number): QueueItem => ({
  pod: podInfo(pod('p').priority(priority).build()),
  queuedAt,
  sequence,
});

it.each<[string, QueueItem, QueueItem]>([
  ['the more important before one that waits longer', item(5, 20, 2), item(1, 10, 1)],
  ['one without a priority before a negative one', item(0, 20, 2), item(-1, 10, 1)],
  ['the one that waits longer', item(5, 10, 2), item(5, 20, 1)],
  ['of two that came in the same moment, the first', item(5, 10, 1), item(5, 10, 2)],
])('%s', (_, first, second) => {
  expect(prioritySort.queueOrder?.(first, second)).toBeLessThan(0);
  expect(prioritySort.queueOrder?.(second, first)).toBeGreaterThan(0);
  expect(prioritySort.queueOrder?.(first, first)).toBe(0);
});
