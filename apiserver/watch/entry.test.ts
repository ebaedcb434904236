import { expect, it } from 'vitest';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import type { ConfigMap } from '../../api/generated/types.ts';
import { configMap } from '../../api/kinds/config-map/kind.ts';
import { RestingEvent } from '../storage/resting-event.ts';
import type { WriteMemo } from '../storage/storage.ts';
import { elementsOf, makeEntry, makeExpiringEntry, restEntry, servedOnce, sizeOfEntry } from './entry.ts';

const key = 'configmaps/default/a';
const bytes = encodeMessage(configMap.message, { metadata: { name: 'a', namespace: 'default' }, data: { b: 'c' } });
const versionOf = (served: Uint8Array) => decodeMessage<ConfigMap>(configMap.message, served).metadata?.resourceVersion;

it('writer and cache share the bytes of a write, whichever of them makes them', () => {
  const [first, second]: WriteMemo[] = [{}, {}];
  expect(makeEntry(key, bytes, 7, first).bytes).toBe(servedOnce(first!, bytes, 7));
  expect(servedOnce(second!, bytes, 7)).toBe(makeEntry(key, bytes, 7, second).bytes);
});

it('a write that was tried again is served with the revision that it got', () => {
  const memo: WriteMemo = {};
  expect(versionOf(servedOnce(memo, bytes, 7))).toBe('7');
  expect(versionOf(makeEntry(key, bytes, 8, memo).bytes)).toBe('8');
});

it('elements that the writer has counted are not counted again; others are', () => {
  expect(elementsOf(makeEntry(key, bytes, 7, { elements: 1_000 }), configMap)).toBe(1_000);
  expect(elementsOf(makeEntry(key, bytes, 7, {}), configMap)).toBe(elementsOf(makeEntry(key, bytes, 7), configMap));
});

it("an expiring entry at rest makes its bytes of the store's, and knows their size without them", () => {
  let reads = 0;
  const memo: WriteMemo = {};
  const written = new RestingEvent({ key, revision: 7, bytes, memo });
  const read = () => {
    reads++;
    return bytes;
  };
  const event = Object.create(written, { bytes: { get: read } }) as RestingEvent;
  const entry = makeExpiringEntry(event);
  const { served } = memo;
  expect(entry.bytes).toBe(served!.bytes);
  reads = 0;
  restEntry(entry);
  expect([sizeOfEntry(entry), reads]).toEqual([served!.bytes.length, 0]);
  expect(entry.bytes).toEqual(served!.bytes);
  expect(entry.bytes).not.toBe(served!.bytes);
  expect(reads).toBe(2);
});
