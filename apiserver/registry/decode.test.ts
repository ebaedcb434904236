import { expect, test } from 'vitest';
import { encodeMessage } from '../../api/codec/message.ts';
import { field } from '../watch/wire.ts';
import { decodeStrictly, findUnknownFields } from './decode.ts';

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

test('bytes that are no message are an invalid request', () => {
  expect(() => decodeStrictly(POD, Buffer.from([0xff]), 'pod')).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
});
