import fc from 'fast-check';
import protobuf from 'protobufjs';
import { fromJson } from '../../../api/codec/json.ts';
import { kinds } from '../../../api/kinds/index.ts';
import type { ApiObject, Kind } from '../../../api/kinds/kind.ts';
import { objectBytes, patchBytes, sampleOf } from './objects.ts';
import { names, strangeTexts, textFor } from './words.ts';

// Arbitrary messages of every type, made from the descriptors. A message has few of its fields, so that what is far
// below is reached as well.

type Message = Record<string, unknown>;

const maxDepth = 5;
const fieldsAtOnce = 4;

const integers: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(0, 1, -1, 2, 100, 2 ** 31 - 1, -(2 ** 31), 2 ** 53 - 1, -(2 ** 53 - 1), 2 ** 62),
  fc.integer(),
);
const int32: fc.Arbitrary<number> = integers.map((value) => value | 0);
const anyBytes: fc.Arbitrary<Uint8Array> = fc.uint8Array({ maxLength: 64 });

const scalars: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  int32,
  sint32: int32,
  sfixed32: int32,
  uint32: int32.map((value) => value >>> 0),
  fixed32: int32.map((value) => value >>> 0),
  int64: integers,
  sint64: integers,
  sfixed64: integers,
  uint64: integers.map(Math.abs),
  fixed64: integers.map(Math.abs),
  float: fc.float(),
  double: fc.double(),
  bool: fc.boolean(),
};

const known = new Map<string, fc.Arbitrary<Message>>();

/** Any message of a type. */
export function messageOf(type: protobuf.Type, depth = maxDepth): fc.Arbitrary<Message> {
  const id = `${type.fullName} ${depth}`;
  let arbitrary = known.get(id);
  if (!arbitrary) {
    const kind = kinds.find(({ message }) => `.${message}` === type.fullName);
    const anyMessage = sparse(type, depth);
    arbitrary = kind
      ? fc.oneof({ weight: 1, arbitrary: anyMessage }, { weight: 4, arbitrary: nearly(kind, type, depth) })
      : anyMessage;
    known.set(id, arbitrary);
  }
  return arbitrary;
}

function sparse(type: protobuf.Type, depth: number): fc.Arbitrary<Message> {
  const fields = type.fieldsArray.filter((field) => depth > 0 || !(field.resolve().resolvedType instanceof protobuf.Type));
  if (fields.length === 0) return fc.constant({});
  const values = new Map<protobuf.Field, fc.Arbitrary<unknown>>();
  const valueIn = (field: protobuf.Field): fc.Arbitrary<unknown> => {
    const value = values.get(field) ?? fieldValue(field, depth);
    values.set(field, value);
    return value;
  };
  // A request is small and mostly whole; an object is large.
  const some =
    fields.length <= 8
      ? fc.subarray(fields, { minLength: Math.min(2, fields.length) })
      : fc.subarray(fields, { maxLength: fieldsAtOnce });
  return some.chain((chosen) =>
    fc.tuple(...chosen.map(valueIn)).map((all) => Object.fromEntries(chosen.map(({ name }, i) => [name, all[i]]))),
  );
}

/** An object that the server takes, with a few things changed. */
function nearly(kind: Kind, type: protobuf.Type, depth: number): fc.Arbitrary<Message> {
  const metadata = type.fields.metadata?.resolve().resolvedType as protobuf.Type;
  const spec = type.fields.spec?.resolve().resolvedType as protobuf.Type | undefined;
  return fc
    .tuple(
      // Of hundreds of methods few meet the same object, unless most are of one name.
      fc.oneof(fc.constant(names[0]), fc.constantFrom(...names)),
      fc.constantFrom('default', 'default', 'default', 'fuzz'),
      few(metadata, depth),
      spec ? few(spec, depth) : fc.constant({}),
      fc.nat(2),
    )
    .map(([name, namespace, moreMetadata, moreSpec, which]) => {
      const sample: Message = { ...fromJson<ApiObject>(kind, sampleOf(kind, name, namespace)) };
      if (which === 1) sample.metadata = { ...(sample.metadata as object), ...moreMetadata };
      if (which === 2) sample.spec = { ...(sample.spec as object), ...moreSpec };
      return sample;
    });
}

const few = (type: protobuf.Type, depth: number): fc.Arbitrary<Message> => messageOf(type, Math.min(depth, 3));

function fieldValue(field: protobuf.Field, depth: number): fc.Arbitrary<unknown> {
  const one = singleValue(field, depth);
  if (field instanceof protobuf.MapField) {
    const key = fc.oneof(fc.constantFrom('app', 'example.com/a', 'cpu', 'memory'), fc.constantFrom(...strangeTexts));
    // A plain object would take "__proto__" for something else.
    return fc
      .array(fc.tuple(key, one), { maxLength: 3 })
      .map((entries) => Object.assign(Object.create(null), Object.fromEntries(entries)));
  }
  return field.repeated ? fc.array(one, { maxLength: 3 }) : one;
}

function singleValue(field: protobuf.Field, depth: number): fc.Arbitrary<unknown> {
  const { resolvedType, type, name } = field;
  if (resolvedType instanceof protobuf.Type) return messageOf(resolvedType, depth - 1);
  if (resolvedType instanceof protobuf.Enum) return int32;
  if (type === 'string') return textFor(name);
  if (type === 'bytes') return name === 'object' ? objectBytes : name === 'patch' ? patchBytes : anyBytes;
  return scalars[type] ?? fc.constant(0);
}

/** The bytes of a message; undefined for one that the library itself does not write. */
export function encode(type: protobuf.Type, message: Message): Buffer | undefined {
  try {
    return type.encode(message).finish() as Buffer;
  } catch {
    return undefined;
  }
}
