import fc from 'fast-check';
import protobuf, { type Field, type Type } from 'protobufjs';

/** What JSON escapes, and the bounds of UTF-8's lengths, at every place among characters that are copied. */
const awkward = fc
  .array(fc.constantFrom('"', '\\', '\n', '\u0000', '\u001f', '\u007f', '\u0080', 'é', '\u2028', '\uffff', '😀', 'a', 'bcdefg'), {
    maxLength: 9,
  })
  .map((parts) => parts.join(''));
export const texts = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.string({ unit: 'binary', maxLength: 8 }),
  awkward,
);
const scalars: Record<string, fc.Arbitrary<unknown>> = {
  string: texts,
  bool: fc.boolean(),
  bytes: fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes)),
  double: fc.double(),
  int32: fc.oneof(fc.integer(), fc.integer({ min: -10, max: 120_000 })),
  uint32: fc.nat(0xffff_ffff),
  int64: fc.oneof(fc.maxSafeInteger(), fc.integer({ min: -10, max: 120_000 })),
};
const document = fc
  .dictionary(fc.string({ minLength: 1, maxLength: 4 }), fc.oneof(fc.integer(), texts), {
    minKeys: 1,
    maxKeys: 2,
    noNullPrototype: true,
  })
  .chain((json) => fc.constantFrom(JSON.stringify(json), JSON.stringify(json, undefined, 1), ` ${JSON.stringify(json)} `));
const nanos = fc.oneof(fc.constant(0), fc.constantFrom(5_000_000, 5_000, 5), fc.nat(999_999_999));
const times = fc.oneof(
  fc.record({ seconds: fc.nat(4e9), nanos }),
  fc.record({ seconds: fc.integer({ min: -62135596800, max: 253402300799 }) }),
  fc.record({}),
);

/** A message of a type with some of its fields, so deep at most. */
export function randomMessage(type: Type, depth: number): fc.Arbitrary<object> {
  if (type.fullName.endsWith('.Timestamp')) return times;
  if (type.fullName.endsWith('.Duration')) return fc.record({ seconds: fc.nat(1_000), nanos });
  if (type.fullName.endsWith('.IntOrString'))
    return fc.oneof(
      fc.record({ type: fc.constant(0), intVal: fc.integer() }),
      fc.record({ type: fc.constant(1), strVal: texts }),
      fc.constantFrom({}, { type: 1 }, { intVal: 3 }),
    );
  const fields = type.fieldsArray.filter((field) => depth > 0 || !field.resolve().resolvedType);
  return fc.record(Object.fromEntries(fields.map((field) => [field.name, randomField(field, depth)])), {
    requiredKeys: [],
    noNullPrototype: true,
  });
}

/** A value of a field that is not empty. */
export function randomField(field: Field, depth: number): fc.Arbitrary<unknown> {
  const { resolvedType } = field.resolve();
  const isDocument = field.options?.['(berth.meta.v1.raw_json)'] || field.name.toLowerCase() === 'raw';
  const one = isDocument
    ? document.map((json) => Buffer.from(json))
    : resolvedType instanceof protobuf.Type
      ? fc.constant(null).chain(() => randomMessage(resolvedType, depth - 1))
      : scalars[field.type]!;
  if (field.map) return fc.dictionary(fc.string({ unit: 'grapheme', maxLength: 4 }), one, { minKeys: 1, maxKeys: 3 });
  return field.repeated ? fc.array(one, { minLength: 1, maxLength: 3 }) : one;
}
