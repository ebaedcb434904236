import { expect, test } from 'vitest';
import type { Pod } from '../generated/types.ts';
import { pod } from '../kinds/pod/kind.ts';
import { countElements, countJsonElements } from './elements.ts';
import { toJson } from './json.ts';
import { encodeMessage } from './message.ts';

const countOf = (object: Pod): number => countElements(pod.message, encodeMessage(pod.message, object));
const container = { name: 'a', image: 'i' };

test.each<[string, Pod, number]>([
  ['nothing', {}, 0],
  ['a message without fields', { metadata: {} }, 1],
  ['texts, which are no elements', { metadata: { name: 'a', namespace: 'b' } }, 1],
  ['two entries of a map', { metadata: { labels: { a: 'b', c: '' } } }, 3],
  ['two messages in a list', { spec: { containers: [container, container] } }, 3],
  ['two texts in a list', { spec: { containers: [{ args: ['', 'b'] }] } }, 4],
  ['two quantities in a map, each an entry and a message', { spec: { overhead: { cpu: { string: '1' }, memory: {} } } }, 5],
  [
    '20 numbers in a list, which take as much as 3 messages',
    { spec: { securityContext: { supplementalGroups: [...Array(20).keys()] } } },
    5,
  ],
])('counts %s', (_, object, count) => {
  expect(countOf(object)).toBe(count);
});

test('counts the same in the JSON form, down to the last term of an affinity', () => {
  const labelSelector = { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'a', operator: 'In', values: ['x', 'y'] }] };
  const term = { topologyKey: 'zone', labelSelector, namespaceSelector: {} };
  const object: Pod = {
    metadata: { labels: { a: 'b' } },
    spec: {
      containers: [{ ...container, args: ['a'], resources: { limits: { cpu: { string: '1' } } } }],
      affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: Array(50).fill(term) } },
    },
  };
  expect(countOf(object)).toBe(3 + 5 + 2 + 50 * 7);
  expect(countJsonElements(pod.message, toJson(pod, object))).toBe(countOf(object));
});

test('counts what of a JSON value has a field, whatever else it is', () => {
  for (const json of [null, 'text', [], { spec: 'text' }, { other: [1, 2, 3] }])
    expect(countJsonElements(pod.message, json)).toBeLessThan(2);
});

test('refuses bytes that end within a field, and passes over fields that the message does not have', () => {
  expect(() => countElements(pod.message, Buffer.from([10, 5, 1]))).toThrow('longer than its message');
  expect(countElements(pod.message, Buffer.from([0xfa, 0x3f, 1, 0]))).toBe(0);
});
