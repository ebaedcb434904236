import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import type { ConfigMap, ConfigMapList } from '../../api/generated/types.ts';
import { listPieces } from './list-response.ts';
import { joinPieces } from './pieces.ts';

const encode = (size: number): Buffer =>
  encodeMessage('berth.core.v1.ConfigMap', { metadata: { name: 'a' }, data: { text: 'x'.repeat(size) } } satisfies ConfigMap);

test('a list in pieces is the list as one message, whatever the sizes of its objects', () => {
  const sizes = fc.array(fc.oneof(fc.integer({ min: 0, max: 3_000 }), fc.constantFrom(65_000, 65_500, 65_536, 70_000, 300_000)), {
    maxLength: 60,
  });
  fc.assert(
    fc.property(sizes, (wanted) => {
      const pieces = listPieces({ resourceVersion: '7', continue: 'more' }, wanted.map(encode));
      const whole = joinPieces(pieces);
      expect([...pieces.make()].reduce((sum, piece) => sum + piece.length, 0)).toBe(pieces.length);
      const { metadata, items = [] } = decodeMessage<ConfigMapList>('berth.core.v1.ConfigMapList', whole);
      expect(metadata).toEqual({ resourceVersion: '7', continue: 'more' });
      expect(items.map((item) => item.data?.text?.length)).toEqual(wanted);
    }),
    { numRuns: 60 },
  );
});

test('only an object that is larger than a piece makes a larger one', () => {
  const pieces = [...listPieces({}, [...Array.from({ length: 200 }, () => encode(1_000)), encode(200_000)]).make()];
  const sizes = pieces.map((piece) => piece.length);
  expect(sizes.filter((size) => size > 64 * 1024)).toHaveLength(1);
  expect(sizes.length).toBeLessThan(8);
});
