import fc from 'fast-check';
import protobuf, { type Field, type Type } from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { kinds } from '../kinds/index.ts';
import { messageType } from './descriptors.ts';
import { toJson } from './json.ts';
import { jsonText } from './json-text.ts';
import { decodeMessage, encodeMessage } from './message.ts';

const scalars: Record<string, fc.Arbitrary<unknown>> = {
  string: fc.oneof(fc.string({ unit: 'grapheme', maxLength: 8 }), fc.string({ unit: 'binary', maxLength: 8 })),
  bool: fc.boolean(),
  bytes: fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes)),
  double: fc.double(),
  int32: fc.integer(),
  uint32: fc.nat(0xffff_ffff),
  int64: fc.maxSafeInteger(),
};
const document = fc.dictionary(fc.string({ minLength: 1, maxLength: 4 }), fc.integer(), {
  minKeys: 1,
  maxKeys: 2,
  noNullPrototype: true,
});

function randomMessage(type: Type, depth: number): fc.Arbitrary<object> {
  if (type.fullName.endsWith('.Timestamp')) return fc.record({ seconds: fc.nat(4e9), nanos: fc.nat(999_999_999) });
  if (type.fullName.endsWith('.Duration')) return fc.record({ seconds: fc.nat(1_000), nanos: fc.nat(999_999_999) });
  const fields = type.fieldsArray.filter((field) => depth > 0 || !field.resolve().resolvedType);
  return fc.record(Object.fromEntries(fields.map((field) => [field.name, randomField(field, depth)])), {
    requiredKeys: [],
    noNullPrototype: true,
  });
}

function randomField(field: Field, depth: number): fc.Arbitrary<unknown> {
  const { resolvedType } = field.resolve();
  const isDocument = field.options?.['(berth.meta.v1.raw_json)'] || field.name.toLowerCase() === 'raw';
  const one = isDocument
    ? document.map((json) => Buffer.from(JSON.stringify(json)))
    : resolvedType instanceof protobuf.Type
      ? fc.constant(null).chain(() => randomMessage(resolvedType, depth - 1))
      : scalars[field.type]!;
  if (field.map) return fc.dictionary(fc.string({ unit: 'grapheme', maxLength: 4 }), one, { minKeys: 1, maxKeys: 3 });
  return field.repeated ? fc.array(one, { minLength: 1, maxLength: 3 }) : one;
}

describe('the text of an encoded object', () => {
  it.each(kinds.map((kind) => [kind.kind, kind] as const))('is the JSON that its decoded form has: %s', (_, kind) => {
    const property = fc.property(randomMessage(messageType(kind.message), 5), (message) => {
      const bytes = encodeMessage(kind.message, message);
      const expected = JSON.parse(JSON.stringify(toJson(kind, decodeMessage(kind.message, bytes))));
      expect(JSON.parse(jsonText(kind, bytes))).toEqual(expected);
      const { apiVersion: _version, kind: _kind, ...bare } = expected;
      expect(JSON.parse(jsonText(kind, bytes, true))).toEqual(bare);
    });
    fc.assert(property, { numRuns: 6, seed: 12 });
  });

  it('of an object of a kind that users added has the members of its document', () => {
    const kind = { kind: 'Toy', apiVersion: 'toys.example.com/v1', message: 'berth.apiextensions.v1.CustomObject' };
    for (const object of [{ metadata: { name: 'a' }, spec: { x: [1] } }, { metadata: { name: 'a' } }, { spec: {} }, {}]) {
      const bytes = encodeMessage(kind.message, object);
      expect(JSON.parse(jsonText(kind, bytes))).toEqual({ ...object, kind: 'Toy', apiVersion: 'toys.example.com/v1' });
    }
  });

  it('of bytes in which a message comes in two parts is that of the whole', () => {
    const kind = { kind: 'Pod', apiVersion: 'v1', message: 'berth.core.v1.Pod' };
    const parts = [{ metadata: { name: 'a' } }, { metadata: { namespace: 'b' } }].map((each) =>
      encodeMessage(kind.message, each),
    );
    expect(JSON.parse(jsonText(kind, Buffer.concat(parts)))).toMatchObject({ metadata: { name: 'a', namespace: 'b' } });
  });
});
