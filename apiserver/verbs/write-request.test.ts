import { expect, it } from 'vitest';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import type { KindStore } from '../registry/kind-store.ts';
import { readWriteRequest } from './write-request.ts';

const REQUEST = 'berth.core.v1.PodWriteRequest';
const store = {} as KindStore;
const refused = expect.objectContaining({ code: 'INVALID_ARGUMENT' });

it('gives the object as it is and the options decoded; of what comes twice the parts count together', () => {
  const parts = [
    { object: { metadata: { name: 'a' } }, options: { fieldManager: 'm' } },
    { object: { spec: { nodeName: 'n' } }, options: { dryRun: ['All'] } },
  ];
  const { object, options } = readWriteRequest('create', store, Buffer.concat(parts.map((part) => encodeMessage(REQUEST, part))));
  expect(decodeMessage('berth.core.v1.Pod', object)).toEqual({ metadata: { name: 'a' }, spec: { nodeName: 'n' } });
  expect(options).toEqual({ fieldManager: 'm', dryRun: ['All'] });
});

it('reads a request of a million parts, whose copies one by one would be a terabyte', () => {
  // Each is a field 1 with a message that has an empty field 2.
  const { object } = readWriteRequest('create', store, Buffer.alloc(4_000_000, Buffer.from([0x0a, 0x02, 0x12, 0x00])));
  expect(object.length).toBe(2_000_000);
  expect(decodeMessage('berth.core.v1.Pod', object)).toEqual({ spec: {} });
});

it.each([
  ['an object that is a number', '0801'],
  ['options that are 8 bytes', '110102030405060708'],
  ['a field that no write has', '1a00'],
  ['bytes that are no message', 'ff'],
])('refuses %s', (_, hex) => {
  expect(() => readWriteRequest('create', store, Buffer.from(hex, 'hex'))).toThrow(refused);
});
