import fc from 'fast-check';
import protobuf, { type Field, type Type } from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { isInvalid } from '../errors/index.ts';
import type { ConfigMap, Lease, NodeMetrics, ObjectMeta, Pod } from '../generated/types.ts';
import { kindNamed, kinds } from '../kinds/index.ts';
import { messageType } from './descriptors.ts';
import { fromJson, messageFromJson, messageToJson, readObject, toJson } from './json.ts';
import { decodeMessage, encodeMessage } from './message.ts';

const pod = kindNamed('Pod');
const DEPTH = 5;

/** Random text that is a key of a map in any language, and random scalars in the range that both forms can say. */
const key = fc.stringMatching(/^[a-z][a-zA-Z0-9./_-]{0,8}$/);
const scalars: Record<string, fc.Arbitrary<unknown>> = {
  string: fc.string({ unit: 'grapheme', maxLength: 8 }),
  bool: fc.boolean(),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 6 }).map((bytes) => Buffer.from(bytes)),
  double: fc.double({ noNaN: true }).map((value) => value + 0),
  int32: fc.integer(),
  int64: fc.maxSafeInteger(),
};

/** The messages that have a JSON form of their own. */
const special: Record<string, fc.Arbitrary<unknown>> = {
  'google.protobuf.Timestamp': fc.record({ seconds: fc.integer({ min: -62135596800, max: 253402300799 }) }),
  'google.protobuf.Duration': fc.oneof(
    fc.record({ seconds: fc.integer() }),
    fc.record({ seconds: fc.nat(), nanos: fc.integer({ min: 1, max: 999_999_999 }) }),
  ),
  'berth.meta.v1.Quantity': fc
    .constantFrom('100m', '1500m', '2Gi', '1e3', '-1', '0', '5E', '12e-3')
    .map((string) => ({ string })),
  'berth.meta.v1.IntOrString': fc.oneof(
    fc.integer().map((intVal) => ({ type: 0, intVal })),
    fc.string().map((strVal) => ({ type: 1, strVal })),
  ),
  'berth.meta.v1.RawExtension': fc.dictionary(key, fc.boolean()).map((json) => ({ raw: Buffer.from(JSON.stringify(json)) })),
  'berth.meta.v1.FieldsV1': fc.dictionary(key, fc.boolean()).map((json) => ({ Raw: Buffer.from(JSON.stringify(json)) })),
};

const isInline = (field: Field): boolean => Boolean(field.options?.['(berth.meta.v1.inline)']);

/**
 * A message with some of its fields set; empty lists, maps and inlined messages are absent,
 * as the wire and JSON have them.
 */
function randomMessage(type: Type, depth: number): fc.Arbitrary<object> {
  const known = special[type.fullName.slice(1)];
  if (known) return known as fc.Arbitrary<object>;
  const fields = Object.fromEntries(
    type.fieldsArray.filter((field) => usable(field, depth)).map((field) => [field.name, randomField(field, depth)]),
  );
  return fc.record(fields, { requiredKeys: [] }).map((message) => {
    const set = Object.entries(message).filter(([name, value]) => !isAbsent(value, isInline(type.fields[name]!)));
    return Object.fromEntries(set);
  });
}

const usable = (field: Field, depth: number): boolean => depth > 0 || !(field.resolve().resolvedType instanceof protobuf.Type);

function isAbsent(value: unknown, inline: boolean): boolean {
  if (value === undefined) return true;
  return (Array.isArray(value) && value.length === 0) || (inline && Object.keys(value as object).length === 0);
}

function randomField(field: Field, depth: number): fc.Arbitrary<unknown> {
  const { resolvedType } = field.resolve();
  const one =
    resolvedType instanceof protobuf.Type
      ? fc.constant(null).chain(() => randomMessage(resolvedType, depth - 1))
      : scalars[field.type]!;
  if (field.map)
    return fc
      .dictionary(key, one, { maxKeys: 3, noNullPrototype: true })
      .map((map) => (Object.keys(map).length ? map : undefined));
  return field.repeated ? fc.array(one, { maxLength: 2 }) : one;
}

describe('the round trip of random messages, generated from the descriptors', () => {
  for (const kind of kinds) {
    it(`loses nothing of a ${kind.kind}, in JSON and in bytes`, () => {
      const property = fc.property(randomMessage(messageType(kind.message), DEPTH), (message) => {
        const json = toJson(kind, message);
        expect(fromJson(kind, JSON.parse(JSON.stringify(json)))).toEqual(message);
        expect(decodeMessage(kind.message, encodeMessage(kind.message, message))).toEqual(message);
      });
      fc.assert(property, { numRuns: 40, seed: 20_260 });
    });
  }
});

/** The message text of a refusal. */
function refusal(json: unknown): string[] {
  try {
    fromJson(pod, json);
  } catch (error) {
    expect(isInvalid(error)).toBe(true);
    return (error as { violations: { field: string; description: string }[] }).violations.map(
      ({ field, description }) => `${field}: ${description}`,
    );
  }
  return [];
}

it('collects every violation with its path, and hints at the field that was probably meant', () => {
  const json = {
    apiVersion: 'v2',
    kind: 'Pod',
    metadata: { labels: { app: 5, 'a/b': ['x'] }, creationTimestamp: 'yesterday' },
    spec: {
      containers: [{ name: 'c', imagee: 'x', resources: { limits: { cpu: 'much' } } }, 7],
      hostNetwork: 'yes',
      hostPID: 'true',
      activeDeadlineSeconds: '80',
      priority: 1.5,
      volumes: { a: 1 },
      Containers: [],
    },
    zebra: true,
  };
  expect(refusal(json)).toEqual([
    'apiVersion: invalid value "v2": must be "v1"',
    'metadata.labels[app]: wrong type: expected a string, found number 5; put it in quotes',
    'metadata.labels[a/b]: wrong type: expected a string, found a list',
    'metadata.creationTimestamp: wrong type: expected a time such as "2026-01-31T12:00:00Z", found string "yesterday"',
    'spec.containers[0].imagee: unknown field; did you mean "image"?',
    'spec.containers[0].resources.limits[cpu]: wrong type: expected a quantity such as "100m", "1.5" or "2Gi", found string "much"',
    'spec.containers[1]: wrong type: expected an object, found number 7',
    'spec.hostNetwork: wrong type: expected true or false, found string "yes"',
    'spec.hostPID: wrong type: expected true or false, found string "true"; remove the quotes',
    expect.stringMatching(
      /^spec\.activeDeadlineSeconds: wrong type: expected an integer from .* found string "80"; remove the quotes$/,
    ),
    'spec.priority: wrong type: expected an integer from -2147483648 to 2147483647, found number 1.5',
    'spec.volumes: wrong type: expected a list, found an object',
    'spec.Containers: unknown field; did you mean "containers"?',
    'zebra: unknown field',
  ]);
});

it('refuses what is no object, and names the object in the error', () => {
  expect(refusal([])).toEqual([': wrong type: expected an object, found a list']);
  expect(() => fromJson(pod, { metadata: { name: 'web', namespace: 'a' }, x: 1 })).toThrow(
    'pod "web" in namespace "a" is invalid: x: unknown field',
  );
});

it('takes null, empty lists and empty maps for absent, and keeps empty messages', () => {
  const json = {
    metadata: { labels: {}, annotations: null },
    spec: { containers: [], securityContext: {}, nodeSelector: {}, nodeName: null },
  };
  expect(fromJson<Pod>(pod, json)).toEqual({ metadata: {}, spec: { securityContext: {} } });
});

it('keeps keys of maps and items of lists that are null, as the zero of their type', () => {
  const json = {
    metadata: { labels: { a: null }, finalizers: ['x', null] },
    spec: {
      nodeSelector: { a: null },
      containers: [null, { args: [null], resources: { limits: { cpu: null } } }],
      securityContext: { supplementalGroups: [null, 5] },
    },
  };
  expect(toJson(pod, fromJson<Pod>(pod, json))).toMatchObject({
    metadata: { labels: { a: '' }, finalizers: ['x', ''] },
    spec: {
      nodeSelector: { a: '' },
      containers: [{}, { args: [''], resources: { limits: { cpu: '0' } } }],
      securityContext: { supplementalGroups: [0, 5] },
    },
  });
  const map = kindNamed('ConfigMap');
  expect(toJson(map, fromJson(map, { data: { a: null }, binaryData: { b: null } }))).toMatchObject({
    data: { a: '' },
    binaryData: { b: '' },
  });
  const review = { user: { extra: { a: null } } };
  expect(messageFromJson('berth.authentication.v1.TokenReviewStatus', review)).toEqual({ user: { extra: { a: {} } } });
});

it('flattens inlined messages, also two deep, and finds them again', () => {
  const object: Pod = {
    spec: {
      volumes: [{ name: 'v', volumeSource: { configMap: { localObjectReference: { name: 'm' }, defaultMode: 420 } } }],
      ephemeralContainers: [
        { ephemeralContainerCommon: { name: 'e', livenessProbe: { handler: { exec: { command: ['a'] } } } } },
      ],
    },
  };
  const json = toJson(pod, object);
  expect(json.spec).toEqual({
    volumes: [{ name: 'v', configMap: { name: 'm', defaultMode: 420 } }],
    ephemeralContainers: [{ name: 'e', livenessProbe: { exec: { command: ['a'] } } }],
  });
  expect(fromJson(pod, json)).toEqual(object);
  expect(refusal({ spec: { volumes: [{ name: 'v', volumeSource: {} }] } })).toHaveLength(1);
});

it('reads quantities from numbers and texts into the one text of the amount, and writes those that it is given', () => {
  const message = 'berth.core.v1.ResourceRequirements';
  const read = (cpu: unknown): unknown => messageFromJson(message, { limits: { cpu } });
  expect(read(0.5)).toEqual({ limits: { cpu: { string: '500m' } } });
  expect(read('1000m')).toEqual({ limits: { cpu: { string: '1' } } });
  expect(messageToJson(message, { limits: { cpu: { string: '1000m' } } })).toEqual({ limits: { cpu: '1000m' } });
});

it('reads and writes times to the second and micro times to the microsecond, and reads any offset', () => {
  const lease = kindNamed('Lease');
  const read = fromJson<Lease>(lease, {
    spec: { renewTime: '2026-01-31T13:00:00.5000009+01:00' },
    metadata: { creationTimestamp: '2026-01-31T12:00:00.999Z' },
  });
  expect(read.spec?.renewTime).toEqual({ seconds: 1769860800, nanos: 500_000_000 });
  expect(read.metadata?.creationTimestamp).toEqual({ seconds: 1769860800 });
  const finer = { seconds: 1769860800, nanos: 500_000_999 };
  expect(toJson(lease, { spec: { renewTime: finer }, metadata: { creationTimestamp: finer } })).toMatchObject(
    toJson(lease, read),
  );
  expect(toJson(lease, read)).toMatchObject({
    metadata: { creationTimestamp: '2026-01-31T12:00:00Z' },
    spec: { renewTime: '2026-01-31T12:00:00.500000Z' },
  });
});

it("reads durations as seconds and in Go's form", () => {
  const metrics = kindNamed('NodeMetrics');
  const window = (text: string): unknown => fromJson<NodeMetrics>(metrics, { window: text }).window;
  expect([window('30s'), window('1m30s'), window('1.5s'), window('-2s'), window('1h')]).toEqual([
    { seconds: 30 },
    { seconds: 90 },
    { seconds: 1, nanos: 500_000_000 },
    { seconds: -2 },
    { seconds: 3600 },
  ]);
  expect(() => window('30')).toThrow('expected a duration');
  expect(toJson(metrics, { window: { seconds: 1, nanos: 500_000_000 } }).window).toBe('1.5s');
});

it('carries bytes as base64 and refuses what is not', () => {
  const map = kindNamed('ConfigMap');
  expect(fromJson<ConfigMap>(map, { binaryData: { a: 'AAE=' } }).binaryData?.a).toEqual(Buffer.from([0, 1]));
  expect(() => fromJson(map, { binaryData: { a: '***' } })).toThrow('binaryData[a]: wrong type: expected base64 text');
});

it('says what is wrong with a secret without saying what is in it', () => {
  const { violations } = readObject(kindNamed('Secret'), { data: { a: 'hunter2 !' }, stringData: { b: 12345 } });
  expect(violations.map(({ field, description }) => `${field}: ${description}`).toSorted()).toEqual([
    'data[a]: wrong type: expected base64 text, found a string; stringData takes plain text',
    'stringData[b]: wrong type: expected a string, found a number',
  ]);
});

it('carries managed fields as the JSON they are', () => {
  const managed = { managedFields: [{ manager: 'm', fieldsV1: { 'f:spec': { 'f:x': {} } } }] };
  const meta = messageFromJson<ObjectMeta>('berth.meta.v1.ObjectMeta', managed);
  expect(meta.managedFields?.[0]?.fieldsV1?.Raw?.toString()).toBe('{"f:spec":{"f:x":{}}}');
  expect(messageToJson('berth.meta.v1.ObjectMeta', meta)).toEqual(managed);
});

it('reads integers or strings, and refuses everything else', () => {
  const port = (value: unknown): unknown => messageFromJson('berth.core.v1.TCPSocketAction', { port: value });
  expect([port(80), port('http')]).toEqual([{ port: { type: 0, intVal: 80 } }, { port: { type: 1, strVal: 'http' } }]);
  expect(() => port(1.5)).toThrow('port: wrong type: expected an integer or a string');
  expect(() => port(2 ** 31)).toThrow('port: wrong type: expected an integer or a string');
  expect(port(-(2 ** 31))).toEqual({ port: { type: 0, intVal: -(2 ** 31) } });
});

it('refuses a key that would change what the map is', () => {
  expect(refusal(JSON.parse('{"metadata":{"labels":{"__proto__":"x"}}}'))).toHaveLength(1);
});
