import { expect, test } from 'vitest';
import { encodeMessage } from '../../api/codec/message.ts';
import { maxElements } from './kind-bounds.ts';
import { turnOfLarge } from './large-turns.ts';

test('a change of a small object, or of none, begins at once', () => {
  expect([turnOfLarge(undefined), turnOfLarge(4_000)]).toEqual([undefined, undefined]);
});

test('changes of objects with as many elements as allowed wait for a turn each, however few bytes they have', async () => {
  const args = Array.from({ length: maxElements }, () => '');
  const { length } = encodeMessage('berth.core.v1.Container', { args });
  const order: string[] = [];
  const first = turnOfLarge(length)?.then(() => {
    order.push('first');
    setImmediate(() => order.push('another call'));
  });
  const second = turnOfLarge(length)?.then(() => order.push('second'));
  await Promise.all([first, second]);
  expect(order).toEqual(['first', 'another call', 'second']);
});
