import { expect, it } from 'vitest';
import { createEventFeed } from './event-feed.ts';

it('a pod that changes again before it was read is told once, and the end comes with the abort', async () => {
  const feed = createEventFeed();
  const stop = new AbortController();
  feed.changed('a', '1');
  feed.changed('b', '2');
  feed.changed('a', '3');
  const told: string[] = [];
  for await (const { podUid, containerId } of feed.follow(stop.signal)) {
    told.push(`${podUid}${containerId}`);
    if (told.length === 2) setTimeout(() => feed.changed('c', '4'));
    if (podUid === 'c') setTimeout(() => stop.abort());
  }
  expect(told).toEqual(['a3', 'b2', 'c4']);
});
