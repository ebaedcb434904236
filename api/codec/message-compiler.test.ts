import fc from 'fast-check';
import protobuf, { type Field, type ReflectionObject, type Type } from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { allDescriptors, messageType } from './descriptors.ts';
import { decodeForeign, decodeMessage, encodeMessage } from './message.ts';
import { isOpen } from './open-message.ts';

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

const messages = new Map<string, fc.Arbitrary<object>>();

/** Building one takes longer than drawing from it, and most messages stand in several others. */
function randomMessage(type: Type, depth: number): fc.Arbitrary<object> {
  const key = `${type.fullName} ${depth}`;
  const known = messages.get(key) ?? buildMessage(type, depth);
  messages.set(key, known);
  return known;
}

function buildMessage(type: Type, depth: number): fc.Arbitrary<object> {
  const fields = type.fieldsArray.filter((field) => depth > 0 || !isMessage(field.resolve().resolvedType));
  return fc
    .record(Object.fromEntries(fields.map((field) => [field.name, randomField(field, depth)])), {
      requiredKeys: [],
      noNullPrototype: true,
    })
    .map((message) => withoutRivals(type, message));
}

/** Of the members of a oneof only one may be set. */
function withoutRivals(type: Type, message: Record<string, unknown>): object {
  for (const { fieldsArray } of type.oneofsArray) {
    const set = fieldsArray.filter(({ name }) => name in message);
    for (const { name } of set.slice(1)) delete message[name];
  }
  return message;
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
  // An object of a kind that users added has another form in memory: open-message.test.ts.
  for (const type of allTypes().filter(({ fullName }) => !isOpen(fullName.slice(1)))) {
    const name = type.fullName.slice(1);
    it(`writes and reads the same bytes as protobufjs for ${name}`, () => {
      const property = fc.property(randomMessage(type, DEPTH), (message) => {
        const bytes = libraryBytes(type, message);
        expect(encodeMessage(name, message).equals(bytes)).toBe(true);
        expect(decodeForeign(name, bytes)).toEqual({ value: message, hasUnknown: false });
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

  it.each([
    ['an integer', { metadata: { generation: Number.NaN } }],
    ['an integer', { metadata: { generation: 2 ** 53 } }],
    ['an integer', { metadata: { generation: 5e9 + 0.5 } }],
    ['a 32-bit number', { spec: { priority: Number.NaN } }],
    ['a 32-bit number', { spec: { priority: 2 ** 31 } }],
    ['a 32-bit number', { spec: { priority: -(2 ** 31) - 1 } }],
  ])('does not write what is not %s: %j', (_, message) => {
    expect(() => encodeMessage(POD, message)).toThrow(RangeError);
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

  it('fail with a WireError and nothing else', () => {
    const damage = fc.array(fc.record({ at: fc.nat(bytes.length - 1), byte: fc.nat(255) }), { minLength: 1, maxLength: 4 });
    const property = fc.property(damage, fc.nat(bytes.length), (changes, length) => {
      const damaged = Buffer.from(bytes.subarray(0, length));
      for (const { at, byte } of changes) if (at < length) damaged[at] = byte;
      try {
        const value = decodeMessage(POD, damaged);
        expect(decodeMessage(POD, encodeMessage(POD, value))).toEqual(value);
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
        expect((error as Error).name).toBe('WireError');
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
    expect(decodeForeign(POD, more)).toEqual({ value: decodeMessage(POD, bytes), hasUnknown: true });
    expect(decodeForeign('berth.core.v1.PodList', wrap(2, more)).hasUnknown).toBe(true);
  });

  it('an unknown field of an entry of a map is told', () => {
    const entry = wrap(1, Buffer.from('cpu'));
    const limits = wrap(1, Buffer.concat([entry, Buffer.from('f83f01', 'hex')]));
    expect(decodeForeign('berth.core.v1.ResourceRequirements', limits)).toEqual({
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

describe('numbers and texts that nothing here can hold', () => {
  const generation = (value: bigint): Buffer => {
    const digits = [];
    for (let rest = BigInt.asUintN(64, value); digits.length === 0 || rest > 0n; rest >>= 7n) digits.push(Number(rest & 0x7fn));
    const { id } = messageType('berth.meta.v1.ObjectMeta').fields.generation!;
    return wrap(1, Buffer.from([id * 8, ...digits.map((bits, i) => (i < digits.length - 1 ? bits | 0x80 : bits))]));
  };
  const most = Number.MAX_SAFE_INTEGER;

  it.each<[string, bigint, number]>([
    ['2^63-1', 2n ** 63n - 1n, most],
    ['2^53', 2n ** 53n, most],
    ['2^64-1 read as -1, which fits', -1n, -1],
    ['-2^53', -(2n ** 53n), -most],
    ['-2^63', -(2n ** 63n), -most],
  ])('%s is refused from outside, and read as what can be written again elsewhere', (_, value, nearest) => {
    const bytes = generation(value);
    if (BigInt(nearest) === value) expect(decodeForeign(POD, bytes).value).toEqual({ metadata: { generation: nearest } });
    else expect(() => decodeForeign(POD, bytes)).toThrow('2^53-1');
    const read = decodeMessage(POD, bytes);
    expect(read).toEqual({ metadata: { generation: nearest } });
    expect(decodeMessage(POD, encodeMessage(POD, read))).toEqual(read);
  });

  it('the largest that fit are read as they are', () => {
    for (const value of [most, -most])
      expect(decodeForeign(POD, generation(BigInt(value))).value).toEqual({ metadata: { generation: value } });
  });

  it('truth and unknown fields are no numbers', () => {
    const huge = Buffer.from('ffffffffffffffff7f', 'hex');
    const { id } = messageType('berth.core.v1.PodSecurityContext').fields.runAsNonRoot!;
    const security = decodeForeign('berth.core.v1.PodSecurityContext', Buffer.concat([Buffer.from([id * 8]), huge]));
    expect(security.value).toEqual({ runAsNonRoot: true });
    expect(decodeForeign(POD, Buffer.concat([Buffer.from('f83f', 'hex'), huge]))).toEqual({ value: {}, hasUnknown: true });
  });

  it('a text that is not UTF-8 is refused from outside, in a map as well; U+FFFD itself is accepted', () => {
    const named = (name: Buffer): Buffer => wrap(1, wrap(1, name));
    expect(decodeForeign(POD, named(Buffer.from('a\uFFFD'))).value).toEqual({ metadata: { name: 'a\uFFFD' } });
    const bad = Buffer.from([0x61, 0xff]);
    const label = wrap(messageType('berth.meta.v1.ObjectMeta').fields.labels!.id, wrap(1, bad));
    for (const bytes of [named(bad), wrap(1, label)]) expect(() => decodeForeign(POD, bytes)).toThrow('UTF-8');
    expect(decodeMessage(POD, named(bad))).toEqual({ metadata: { name: 'a\uFFFD' } });
  });
});

describe('fields that come more than once', () => {
  const both = (type: string, ...values: object[]): object =>
    decodeMessage(type, Buffer.concat(values.map((value) => libraryBytes(messageType(type), value))));

  it('of scalars the last counts, lists go on, and messages are merged', () => {
    const first = { metadata: { name: 'a', labels: { x: '1' }, finalizers: ['f'] }, spec: { nodeName: 'n' } };
    const second = { metadata: { name: 'b', labels: { y: '2' }, finalizers: ['g'] } };
    expect(both(POD, first, second)).toEqual({
      metadata: { name: 'b', labels: { x: '1', y: '2' }, finalizers: ['f', 'g'] },
      spec: { nodeName: 'n' },
    });
  });

  it('of the members of a oneof the last counts, merged with itself', () => {
    const item = 'berth.meta.v1.BulkItem';
    const create = { create: { kind: { kind: 'Pod' } } };
    expect(both(item, { id: 1 }, create, { delete: { delete: { name: 'a' } } })).toEqual({
      id: 1,
      delete: { delete: { name: 'a' } },
    });
    expect(both(item, { delete: {} }, create, { create: { options: { dryRun: ['All'] } } })).toEqual({
      create: { ...create.create, options: { dryRun: ['All'] } },
    });
  });
});

/** One short length-delimited field. */
function wrap(id: number, bytes: Uint8Array): Buffer {
  expect(bytes.length).toBeLessThan(16_384);
  const length = bytes.length < 128 ? [bytes.length] : [(bytes.length & 0x7f) | 0x80, bytes.length >> 7];
  return Buffer.concat([Buffer.from([id * 8 + 2, ...length]), bytes]);
}
