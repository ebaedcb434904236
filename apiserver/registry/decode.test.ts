import { expect, test } from 'vitest';
import { encodeMessage } from '../../api/codec/message.ts';
import { field } from '../../api/codec/wire-format.ts';
import { decodeStrictly, findUnknownFields, parseJson } from './decode.ts';

const POD = 'berth.core.v1.Pod';
const SPEC = 2;

test('a message of known fields has no unknown ones', () => {
  const pod = {
    metadata: { name: 'a', labels: { x: '1' } },
    spec: { containers: [{ name: 'c', resources: { limits: { cpu: { string: '1' } } } }] },
  };
  expect(findUnknownFields(POD, encodeMessage(POD, pod))).toEqual([]);
});

test('an unknown field is found where it stands', () => {
  const container = Buffer.concat([encodeMessage('berth.core.v1.Container', { name: 'c' }), Buffer.from([0xf8, 0x3f, 1])]);
  const bytes = field(
    SPEC,
    Buffer.concat([field(2, encodeMessage('berth.core.v1.Container', { name: 'a' })), field(2, container)]),
  );
  expect(findUnknownFields(POD, bytes).map((violation) => violation.field)).toEqual(['spec.containers[1].#1023']);
  expect(() => decodeStrictly(POD, bytes, 'pod')).toThrow(/spec.containers\[1\].#1023: unknown field/);
});

test('an unknown field is found in an entry of a map and in its value', () => {
  const unknown = Buffer.from([0xf8, 0x3f, 1]);
  const entry = (value: Buffer, more = Buffer.alloc(0)) =>
    field(1, Buffer.concat([field(1, Buffer.from('cpu')), field(2, value), more]));
  const path = (limits: Buffer): string[] => {
    const container = field(8, limits);
    const bytes = field(SPEC, field(2, container));
    expect(() => decodeStrictly(POD, bytes, 'pod')).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
    return findUnknownFields(POD, bytes).map((violation) => violation.field);
  };
  const quantity = field(1, Buffer.from('1'));
  expect(path(entry(Buffer.concat([quantity, unknown])))).toEqual(['spec.containers[0].resources.limits[cpu].#1023']);
  expect(path(entry(quantity, unknown))).toEqual(['spec.containers[0].resources.limits[cpu].#1023']);
});

test('bytes that are no message are an invalid request', () => {
  expect(() => decodeStrictly(POD, field(1, field(1, Buffer.from([0xff]))), 'pod')).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
  );
  expect(() => decodeStrictly(POD, Buffer.from([0xff]), 'pod')).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
});

test('JSON that only nests is refused before the parser, which would take seconds, gets to its end', () => {
  expect(() => parseJson(Buffer.from('['.repeat(100_000)), 'body')).toThrow(
    'cannot read the body: it is nested more than 128 levels',
  );
});

test('JSON of very many values is refused before it is parsed, and one of as many bytes is not', () => {
  const [many, long] = [`[${'[],'.repeat(200_001)}`, JSON.stringify('[],'.repeat(200_001))].map((text) => Buffer.from(text));
  expect(() => parseJson(many!, 'body')).toThrow('cannot read the body: it has more than 400000 values');
  expect(parseJson(long!, 'body')).toHaveLength(600_003);
});
