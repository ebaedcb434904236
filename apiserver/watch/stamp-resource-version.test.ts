import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import { WireError } from '../../api/codec/wire-format.ts';
import type { Pod } from '../../api/generated/types.ts';
import { metadataBytes, stampResourceVersion, withoutResourceVersion } from './stamp-resource-version.ts';

const text = fc.string({ minLength: 1, maxLength: 300 });
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const metadata = fc.record({
  name: optional(text),
  generateName: optional(text),
  namespace: optional(text),
  uid: optional(text),
  resourceVersion: optional(fc.nat().map(String)),
  generation: optional(fc.nat()),
  labels: optional(fc.dictionary(text, text, { maxKeys: 5 })),
  finalizers: optional(fc.array(text, { minLength: 1, maxLength: 3 })),
});
const pod = fc.record({ metadata: optional(metadata), spec: optional(fc.record({ nodeName: optional(text) })) });

/** The value as a decoder would give it: nothing is undefined. */
const clean = (value: object): Pod => JSON.parse(JSON.stringify(value));

test('stamping is what decoding, setting and encoding would give, byte for byte', () => {
  fc.assert(
    fc.property(pod, fc.nat(), (value, revision) => {
      const bytes = encodeMessage('berth.core.v1.Pod', clean(value));
      const expected = decodeMessage<Pod>('berth.core.v1.Pod', bytes);
      expected.metadata = { ...expected.metadata, resourceVersion: String(revision) };
      const stamped = stampResourceVersion(bytes, String(revision));
      expect(stamped.equals(encodeMessage('berth.core.v1.Pod', expected))).toBe(true);
      expect(decodeMessage('berth.meta.v1.ObjectMeta', metadataBytes(stamped))).toEqual(expected.metadata);
    }),
  );
});

test('without a version they are what decoding, removing and encoding would give', () => {
  fc.assert(
    fc.property(pod, (value) => {
      const bytes = encodeMessage('berth.core.v1.Pod', clean(value));
      const expected = decodeMessage<Pod>('berth.core.v1.Pod', bytes);
      delete expected.metadata?.resourceVersion;
      expect(Buffer.from(withoutResourceVersion(bytes)).equals(encodeMessage('berth.core.v1.Pod', expected))).toBe(true);
    }),
  );
});

test('what stands before the metadata stays where it is', () => {
  const spec = encodeMessage('berth.core.v1.Pod', { spec: { nodeName: 'n' } });
  const bytes = Buffer.concat([spec, encodeMessage('berth.core.v1.Pod', { metadata: { name: 'a' } })]);
  const stamped = stampResourceVersion(bytes, '7');
  expect(stamped.subarray(0, spec.length).equals(spec)).toBe(true);
  expect(decodeMessage<Pod>('berth.core.v1.Pod', stamped).metadata).toEqual({ name: 'a', resourceVersion: '7' });
  expect(Buffer.from(withoutResourceVersion(stamped)).equals(bytes)).toBe(true);
});

test('bytes that are no message are refused or stamped, never read beyond their end', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      try {
        stampResourceVersion(bytes, '7');
      } catch (error) {
        expect(error).toBeInstanceOf(WireError);
      }
    }),
  );
});
