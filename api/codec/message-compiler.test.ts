import fc from 'fast-check';
import protobuf, { type Field, type ReflectionObject, type Type } from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { allDescriptors } from './descriptors.ts';
import { decodeMessage, decodeWithUnknown, encodeMessage, messageType } from './message.ts';

const DEPTH = 4;
const POD = 'berth.core.v1.Pod';

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.string({ minLength: 60, maxLength: 70 }),
  fc.string({ unit: 'binary', minLength: 60, maxLength: 70 }),
);
const scalars: Record<string, fc.Arbitrary<unknown>> = {
  string: text,
  bool: fc.boolean(),
  bytes: fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes)),
  double: fc.double({ noNaN: true }),
  int32: fc.integer(),
  uint32: fc.nat(0xffff_ffff),
  int64: fc.oneof(fc.maxSafeInteger(), fc.integer(), fc.constantFrom(0, -1, 2 ** 31, 2 ** 32, -(2 ** 32), 2 ** 35, 2 ** 49)),
};

const isMessage = (object: ReflectionObject | null): object is Type => object instanceof protobuf.Type;

/** Every message that the descriptors declare. */
function allTypes(): Type[] {
  const below = (object: ReflectionObject): Type[] => [
    ...(isMessage(object) ? [object] : []),
    ...((object as Partial<protobuf.NamespaceBase>).nestedArray ?? []).flatMap(below),
  ];
  return below(allDescriptors());
}

function randomMessage(type: Type, depth: number): fc.Arbitrary<object> {
  const fields = type.fieldsArray.filter((field) => depth > 0 || !isMessage(field.resolve().resolvedType));
  return fc.record(Object.fromEntries(fields.map((field) => [field.name, randomField(field, depth)])), {
    requiredKeys: [],
    noNullPrototype: true,
  });
}

function randomField(field: Field, depth: number): fc.Arbitrary<unknown> {
  const { resolvedType } = field.resolve();
  const one = isMessage(resolvedType)
    ? fc.constant(null).chain(() => randomMessage(resolvedType, depth - 1))
    : scalars[field.type]!;
  if (field.map) return fc.dictionary(fc.oneof(text, fc.constant('')), one, { minKeys: 1, maxKeys: 3, noNullPrototype: true });
  return field.repeated ? fc.array(one, { minLength: 1, maxLength: 3 }) : one;
}

/** What the library makes of the value, for comparison. */
const libraryBytes = (type: Type, value: object): Buffer => Buffer.from(type.encode(value).finish());

describe('the compiled codec', () => {
  for (const type of allTypes()) {
    const name = type.fullName.slice(1);
    it(`writes and reads the same bytes as protobufjs for ${name}`, () => {
      const property = fc.property(randomMessage(type, DEPTH), (message) => {
        const bytes = libraryBytes(type, message);
        expect(encodeMessage(name, message).equals(bytes)).toBe(true);
        expect(decodeWithUnknown(name, bytes)).toEqual({ value: message, hasUnknown: false });
      });
      fc.assert(property, { numRuns: 15, seed: 4_711 });
    });
  }

  it('reads what it wrote, also what does not fit its buffer', () => {
    const data = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`key-${i}`, 'ä'.repeat(i)]));
    expect(decodeMessage('berth.core.v1.ConfigMap', encodeMessage('berth.core.v1.ConfigMap', { data }))).toEqual({ data });
    expect(decodeMessage(POD, encodeMessage(POD, { metadata: { name: 'a' } }))).toEqual({ metadata: { name: 'a' } });
  });

  it('goes on after a value that it could not write', () => {
    expect(() => encodeMessage(POD, { spec: { containers: [{ name: 5 }] } })).toThrow();
    expect(encodeMessage(POD, { metadata: { name: 'a' } })).toEqual(Buffer.from('0a030a0161', 'hex'));
  });

  it('makes own properties of all keys of a map', () => {
    const bytes = encodeMessage(POD, { metadata: { labels: JSON.parse('{"__proto__":"a","constructor":"b"}') } });
    const { labels } = decodeMessage<{ metadata: { labels: object } }>(POD, bytes).metadata;
    expect(Object.entries(labels)).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ]);
    expect(Object.getPrototypeOf(labels)).toBe(Object.prototype);
  });

  it('declares no field that every object has', () => {
    const names = allTypes().flatMap((type) => type.fieldsArray.map((field) => field.name));
    expect(names.filter((name) => name in {})).toEqual([]);
  });
});

describe('damaged and unknown bytes', () => {
  const bytes = libraryBytes(messageType(POD), {
    metadata: { name: 'web', labels: { a: 'b' }, generation: -5, creationTimestamp: { seconds: 1e9 } },
    spec: { containers: [{ name: 'c', resources: { limits: { cpu: { string: '1' } } } }], terminationGracePeriodSeconds: 30 },
  });

  it('never give more than an Error', () => {
    const damage = fc.array(fc.record({ at: fc.nat(bytes.length - 1), byte: fc.nat(255) }), { minLength: 1, maxLength: 4 });
    const property = fc.property(damage, fc.nat(bytes.length), (changes, length) => {
      const damaged = Buffer.from(bytes.subarray(0, length));
      for (const { at, byte } of changes) if (at < length) damaged[at] = byte;
      try {
        const value = decodeMessage(POD, damaged);
        expect(decodeMessage(POD, encodeMessage(POD, value))).toEqual(value);
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
        expect((error as Error).name).toBe('Error');
      }
    });
    fc.assert(property, { numRuns: 3_000, seed: 1 });
  });

  it.each([
    ['a length beyond the end', '0a05'],
    ['a message that ends inside a number', '0a0228ff'],
    ['a message that goes on behind its end', '0a0128 05'],
    ['a known field in another form', '08 01'],
    ['the field number 0', '00 01'],
    ['a wire type that does not exist', 'ff3f'],
    ['a number without end', '0a0c 38 ffffffffffffffffffffff'],
  ])('%s is refused', (_, hex) => {
    expect(() => decodeMessage(POD, Buffer.from(hex.replaceAll(' ', ''), 'hex'))).toThrow(Error);
  });

  it.each([
    ['a varint', 'f83f01'],
    ['8 bytes', 'f93f0102030405060708'],
    ['a text', 'fa3f0161'],
    ['4 bytes', 'fd3f01020304'],
  ])('an unknown field with %s is passed over and told', (_, hex) => {
    const more = Buffer.concat([bytes, Buffer.from(hex, 'hex')]);
    expect(decodeWithUnknown(POD, more)).toEqual({ value: decodeMessage(POD, bytes), hasUnknown: true });
    expect(decodeWithUnknown('berth.core.v1.PodList', wrap(2, more)).hasUnknown).toBe(true);
  });

  it('an unknown field of an entry of a map is told', () => {
    const entry = wrap(1, Buffer.from('cpu'));
    const limits = wrap(1, Buffer.concat([entry, Buffer.from('f83f01', 'hex')]));
    expect(decodeWithUnknown('berth.core.v1.ResourceRequirements', limits)).toEqual({
      value: { limits: { cpu: {} } },
      hasUnknown: true,
    });
  });

  it('numbers are read one by one and packed', () => {
    const security = 'berth.core.v1.PodSecurityContext';
    const { id } = messageType(security).fields.supplementalGroups!;
    const expected = { supplementalGroups: [7, 8] };
    expect(decodeMessage(security, Buffer.from([id * 8, 7, id * 8, 8]))).toEqual(expected);
    expect(decodeMessage(security, wrap(id, Buffer.from([7, 8])))).toEqual(expected);
  });
});

/** One short length-delimited field. */
function wrap(id: number, bytes: Uint8Array): Buffer {
  expect(bytes.length).toBeLessThan(16_384);
  const length = bytes.length < 128 ? [bytes.length] : [(bytes.length & 0x7f) | 0x80, bytes.length >> 7];
  return Buffer.concat([Buffer.from([id * 8 + 2, ...length]), bytes]);
}
