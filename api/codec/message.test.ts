import { expect, it } from 'vitest';
import type { ConfigMap } from '../generated/types.ts';
import { messageType } from './descriptors.ts';
import { decodeMessage, encodeMessage } from './message.ts';

const POD = 'berth.core.v1.Pod';

it("keeps the descriptors' names, podIP among them", () => {
  expect(messageType('berth.core.v1.PodStatus').fields.podIP?.id).toBe(6);
});

it('leaves absent fields absent, and empty lists and maps too', () => {
  const bytes = encodeMessage(POD, { metadata: { labels: {} }, spec: { containers: [] } });
  expect(decodeMessage(POD, bytes)).toEqual({ metadata: {}, spec: {} });
});

it('keeps a zero that was said', () => {
  const object = { spec: { terminationGracePeriodSeconds: 0, hostNetwork: false, containers: [{ stdin: false, image: '' }] } };
  expect(decodeMessage(POD, encodeMessage(POD, object))).toEqual(object);
});

it('gives 64-bit integers as numbers, also negative and large ones', () => {
  for (const generation of [0, -1, 2 ** 40, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]) {
    expect(decodeMessage(POD, encodeMessage(POD, { metadata: { generation } }))).toEqual({ metadata: { generation } });
  }
});

it('gives bytes as Buffers', () => {
  const object = { data: { key: Buffer.from([0, 255]) } };
  const back = decodeMessage<typeof object>('berth.core.v1.Secret', encodeMessage('berth.core.v1.Secret', object));
  expect(Buffer.isBuffer(back.data.key)).toBe(true);
  expect(back).toEqual(object);
});

it('gives plain objects', () => {
  const back = decodeMessage<{ metadata: object }>(POD, encodeMessage(POD, { metadata: { name: 'a' } }));
  expect([Object.getPrototypeOf(back), Object.getPrototypeOf(back.metadata)]).toEqual([Object.prototype, Object.prototype]);
});

it('refuses a name that the descriptors do not have', () => {
  expect(() => messageType('berth.core.v1.Nothing')).toThrow();
});

it('gives an entry of a map that leaves its value out an empty one', () => {
  // binaryData = 3 and data = 2, each with the key "k" (field 1) alone.
  const bytes = Buffer.from('1a030a016b12030a016b', 'hex');
  const object = decodeMessage<ConfigMap>('berth.core.v1.ConfigMap', bytes);
  expect(object).toEqual({ data: { k: '' }, binaryData: { k: Buffer.alloc(0) } });
  expect(decodeMessage('berth.core.v1.ConfigMap', encodeMessage('berth.core.v1.ConfigMap', object))).toEqual(object);
});
