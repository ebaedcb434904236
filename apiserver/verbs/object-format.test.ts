import { expect, it } from 'vitest';
import { encodeMessage } from '../../api/codec/message.ts';
import type { ConfigMap } from '../../api/generated/types.ts';
import { configMap } from '../../api/kinds/config-map/kind.ts';
import type { KindStore } from '../registry/kind-store.ts';
import { EntryDecoder, makeEntry } from '../watch/entry.ts';
import { eventFormat } from './object-format.ts';

const entry = (name: string, size = 10) => {
  const object: ConfigMap = { metadata: { name, namespace: 'default' }, data: { text: 'x'.repeat(size) } };
  return makeEntry(`configmaps/default/${name}`, encodeMessage(configMap.message, object), 1);
};
const json = (decoder: EntryDecoder) =>
  eventFormat('json', { kind: decoder.kind, cache: { decoder } } as unknown as KindStore, () => new Date());

it('encodes an object as JSON once for all watchers of its kind', () => {
  const decoder = new EntryDecoder(configMap);
  const [one, two, elsewhere] = [json(decoder), json(decoder), json(new EntryDecoder(configMap))];
  const first = entry('a');
  const encoded = one.encode(first, true);
  expect(JSON.parse(Buffer.from(encoded).toString()).metadata).toEqual({ name: 'a', namespace: 'default', resourceVersion: '1' });
  expect(two.encode(first, false)).toBe(encoded);
  expect(elsewhere.encode(first, false)).not.toBe(encoded);
});

it('keeps 8 MiB of what was encoded, the latest', () => {
  const format = json(new EntryDecoder(configMap));
  const entries = Array.from({ length: 12 }, (_, i) => entry(`c${i}`, 500_000));
  const encoded = entries.map((each) => format.encode(each, false));
  expect(format.encode(entries[5]!, false)).toBe(encoded[5]);
  expect(format.encode(entries[0]!, false)).not.toBe(encoded[0]);
});
