import { expect, it } from 'vitest';
import { UnknownStreams } from './unknown-streams.ts';

const connection = (peer: string) => {
  const made = { peer, known: false, isKnown: () => made.known };
  return made;
};
const begin = <T extends { peer: string; isKnown: () => boolean }>(streams: UnknownStreams<T>, holder: T, times: number) =>
  Array.from({ length: times }, () => streams.begin(holder)).filter((each) => each !== undefined);

it('closes the connection of an address that has the most streams when the address has too many', () => {
  const streams = new UnknownStreams<ReturnType<typeof connection>>({ perPeer: 10, total: 100 });
  const [greedy, modest, other] = [connection('a'), connection('a'), connection('b')];
  begin(streams, greedy, 8);
  begin(streams, other, 10);
  expect(begin(streams, modest, 3)).toEqual([greedy]);
  expect(streams.total).toBe(13);
});

it('closes the connection with the most streams of all when there are too many in all', () => {
  const streams = new UnknownStreams<ReturnType<typeof connection>>({ perPeer: 10, total: 15 });
  const [a, b] = [connection('a'), connection('b')];
  begin(streams, a, 9);
  expect(begin(streams, b, 7)).toEqual([a]);
  expect(streams.total).toBe(7);
});

it('forgets a connection that authenticates, with its open streams, and closes none in its place', () => {
  const streams = new UnknownStreams<ReturnType<typeof connection>>({ perPeer: 10, total: 100 });
  const [first, second] = [connection('a'), connection('a')];
  begin(streams, first, 10);
  first.known = true;
  expect(begin(streams, second, 10)).toEqual([]);
  expect(begin(streams, first, 100)).toEqual([]);
  expect(streams.total).toBe(10);
});

it('counts nothing of what has closed, in whatever order streams and connection close', () => {
  const streams = new UnknownStreams<ReturnType<typeof connection>>({ perPeer: 10, total: 100 });
  const [a, b] = [connection('a'), connection('a')];
  begin(streams, a, 3);
  begin(streams, b, 3);
  for (let i = 0; i < 3; i++) streams.end(a);
  streams.forget(b);
  for (let i = 0; i < 3; i++) streams.end(b);
  expect(streams.total).toBe(0);
});
