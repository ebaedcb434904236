import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../meta/merge-patch.ts';
import { strategicMerge } from './strategic-merge.ts';

const merge = (target: JsonObject, patch: JsonObject): JsonObject => strategicMerge('berth.core.v1.Pod', target, patch);
const containers = (...list: JsonObject[]): JsonObject => ({ spec: { containers: list } });

describe('a strategic merge patch', () => {
  it.each<[string, JsonObject, JsonObject, JsonObject]>([
    [
      'merges the items of a list by their key',
      containers({ name: 'a', image: '1', args: ['x'] }, { name: 'b', image: '1' }),
      containers({ name: 'b', image: '2' }),
      containers({ name: 'a', image: '1', args: ['x'] }, { name: 'b', image: '2' }),
    ],
    [
      'puts an item of a new key in front, as Kubernetes does',
      containers({ name: 'a' }),
      containers({ name: 'b' }),
      containers({ name: 'b' }, { name: 'a' }),
    ],
    [
      'removes an item',
      containers({ name: 'a' }, { name: 'b' }),
      containers({ name: 'a', $patch: 'delete' }),
      containers({ name: 'b' }),
    ],
    [
      'passes over the removal of an item that is not there',
      containers({ name: 'a' }),
      containers({ name: 'x', $patch: 'delete' }),
      containers({ name: 'a' }),
    ],
    [
      'replaces a list when it says so',
      containers({ name: 'a' }, { name: 'b' }),
      containers({ $patch: 'replace' }, { name: 'c', image: null }),
      containers({ name: 'c' }),
    ],
    [
      'replaces a list without a key',
      containers({ name: 'a', args: ['x', 'y'] }),
      containers({ name: 'a', args: ['z'] }),
      containers({ name: 'a', args: ['z'] }),
    ],
    [
      'merges maps and removes with null',
      { metadata: { labels: { a: '1', b: '2' } } },
      { metadata: { labels: { b: null, c: '3' } } },
      { metadata: { labels: { a: '1', c: '3' } } },
    ],
    [
      'replaces a map when it says so',
      { metadata: { labels: { a: '1' } } },
      { metadata: { labels: { $patch: 'replace', b: '2' } } },
      { metadata: { labels: { b: '2' } } },
    ],
    [
      'empties a map when it says so',
      { metadata: { labels: { a: '1' } } },
      { metadata: { labels: { $patch: 'delete' }, annotations: { $patch: 'delete' } } },
      { metadata: { labels: {} } },
    ],
    [
      'unites lists of plain values',
      { metadata: { finalizers: ['a/b'] } },
      { metadata: { finalizers: ['a/b', 'c/d'] } },
      { metadata: { finalizers: ['a/b', 'c/d'] } },
    ],
    [
      'removes plain values',
      { metadata: { finalizers: ['a/b', 'c/d'] } },
      { metadata: { '$deleteFromPrimitiveList/finalizers': ['a/b'] } },
      { metadata: { finalizers: ['c/d'] } },
    ],
    [
      'merges lists in lists, and numbers as keys',
      containers({ name: 'a', ports: [{ containerPort: 80, name: 'x' }, { containerPort: 81 }] }),
      containers({ name: 'a', ports: [{ containerPort: 80, name: 'y' }] }),
      containers({ name: 'a', ports: [{ containerPort: 80, name: 'y' }, { containerPort: 81 }] }),
    ],
    [
      'finds fields of inlined messages, and keeps only what it says',
      { spec: { volumes: [{ name: 'v', emptyDir: {} }] } },
      { spec: { volumes: [{ name: 'v', $retainKeys: ['name', 'hostPath'], hostPath: { path: '/x' } }] } },
      { spec: { volumes: [{ name: 'v', hostPath: { path: '/x' } }] } },
    ],
    [
      'orders the items that it leaves as they are',
      containers({ name: 'a' }, { name: 'x' }, { name: 'b' }, { name: 'c' }),
      { spec: { '$setElementOrder/containers': [{ name: 'c' }, { name: 'a' }, { name: 'gone' }] } },
      containers({ name: 'x' }, { name: 'b' }, { name: 'c' }, { name: 'a' }),
    ],
    [
      'orders new and old items, and keeps those of others where they stood',
      containers({ name: 'a' }, { name: 'injected' }, { name: 'b' }),
      {
        spec: {
          '$setElementOrder/containers': [{ name: 'a' }, { name: 'new' }, { name: 'b' }],
          containers: [{ name: 'new' }, { name: 'b', image: '2' }],
        },
      },
      containers({ name: 'a' }, { name: 'new' }, { name: 'injected' }, { name: 'b', image: '2' }),
    ],
    [
      'orders, adds and removes plain values',
      { metadata: { finalizers: ['a/a', 'b/b', 'c/c'] } },
      {
        metadata: {
          '$setElementOrder/finalizers': ['d/d', 'a/a'],
          '$deleteFromPrimitiveList/finalizers': ['b/b'],
          finalizers: ['d/d'],
        },
      },
      { metadata: { finalizers: ['d/d', 'a/a', 'c/c'] } },
    ],
    [
      'removes every item of a key, and then adds',
      containers({
        name: 'a',
        ports: [
          { containerPort: 53, protocol: 'UDP' },
          { containerPort: 53, protocol: 'TCP' },
        ],
      }),
      containers({ name: 'a', ports: [{ containerPort: 53 }, { containerPort: 53, $patch: 'delete' }] }),
      containers({ name: 'a', ports: [{ containerPort: 53 }] }),
    ],
    [
      'takes a list that is not there as it is',
      containers({ name: 'a' }),
      containers({
        name: 'a',
        ports: [
          { containerPort: 53, protocol: 'UDP' },
          { containerPort: 53, protocol: 'TCP' },
        ],
      }),
      containers({
        name: 'a',
        ports: [
          { containerPort: 53, protocol: 'UDP' },
          { containerPort: 53, protocol: 'TCP' },
        ],
      }),
    ],
    [
      'leaves nulls and directives out of what it adds',
      {},
      {
        spec: {
          containers: [
            { name: 'a', image: null, $patch: 'merge' },
            { name: 'b', $patch: 'delete' },
          ],
          $retainKeys: ['containers'],
        },
      },
      containers({ name: 'a' }),
    ],
    [
      'leaves fields that it does not know to the strict reader',
      {},
      { spec: { unknown: { a: [1] } } },
      { spec: { unknown: { a: [1] } } },
    ],
  ])('%s', (_title, target, patch, expected) => {
    const before = structuredClone(target);
    expect(merge(target, patch)).toEqual(expected);
    expect(target).toEqual(before);
  });

  it('merges large lists in time that grows with their size only', () => {
    const many = Array.from({ length: 100_000 }, (_, i) => ({ name: `c${i}` }));
    const twice = merge(merge({}, containers(...many)), containers(...many, { name: 'last' }));
    expect((twice.spec as { containers: unknown[] }).containers).toHaveLength(100_001);
  });

  it('knows no field by a name that every object has', () => {
    expect(merge({}, { constructor: { prototype: {} } })).toEqual({ constructor: { prototype: {} } });
  });

  it('removes an item and adds it again in one patch', () => {
    const patch = containers({ name: 'a', $patch: 'delete' }, { name: 'a', image: '2' });
    expect(merge(containers({ name: 'a', image: '1', args: ['x'] }), patch)).toEqual(containers({ name: 'a', image: '2' }));
  });

  it('replaces the selector of a budget as a whole', () => {
    const budget = (labels: JsonObject): JsonObject => ({ spec: { selector: { matchLabels: labels } } });
    const after = strategicMerge('berth.policy.v1.PodDisruptionBudget', budget({ a: '1' }), budget({ b: '2' }));
    expect(after).toEqual(budget({ b: '2' }));
  });

  it.each<[string, JsonObject, string]>([
    ['an item without its key', containers({ image: 'x' }), 'spec.containers[0]: the item needs its name, a plain value'],
    ['a key that is no plain value', containers({ name: 'a' }, { name: {} }), 'spec.containers[1]: the item needs its name'],
    ['an unknown word in an item', containers({ $patch: 'replac' }), 'spec.containers[0]: $patch: "replac" is no directive'],
    ['an unknown word', { spec: { $patch: 'explode' } }, 'spec: $patch: "explode" is no directive'],
    ['an unknown directive', { spec: { $unknown: 1 } }, 'spec: $unknown: 1 is no directive'],
    [
      'a directive in what is new',
      { spec: { securityContext: { $also: 1 } } },
      'cannot patch: spec.securityContext: $also: 1 is no directive of a strategic merge patch',
    ],
    [
      'an order of a list that is replaced',
      containers({ name: 'a', '$setElementOrder/args': ['x'] }),
      'args: $setElementOrder is for',
    ],
    ['an order that is no list', { spec: { '$setElementOrder/containers': 1 } }, 'it takes a list'],
    [
      'items in another order than theirs',
      { spec: { '$setElementOrder/containers': [{ name: 'a' }, { name: 'b' }], containers: [{ name: 'b' }, { name: 'a' }] } },
      'spec.containers: the items are not in the order',
    ],
    [
      'an item that the order does not name',
      { spec: { '$setElementOrder/containers': [{ name: 'a' }], containers: [{ name: 'b' }] } },
      'or not all are named there',
    ],
    [
      'a removal from a list of objects',
      { spec: { '$deleteFromPrimitiveList/containers': ['a'] } },
      'is for lists of plain values',
    ],
    ['a removal that is no list', { metadata: { '$deleteFromPrimitiveList/finalizers': 'a' } }, 'it takes a list'],
    [
      'an object among plain values',
      { metadata: { finalizers: ['a/b', {}] } },
      'metadata.finalizers[1]: the list is of plain values',
    ],
    ['a field that is not kept', containers({ name: 'a', image: 'x', $retainKeys: ['name'] }), '$retainKeys does not name image'],
    ['keys to keep that are no list', { spec: { $retainKeys: 'x' } }, 'it takes a list of field names'],
  ])('refuses %s, and says where', (_title, patch, message) => {
    const target = { metadata: { finalizers: ['a/b'] }, ...containers({ name: 'a', args: ['x'] }) };
    const before = structuredClone(target);
    expect(() => merge(target, patch)).toThrow(message);
    expect(target).toEqual(before);
  });
});

// What Kubernetes' pages on patching objects in place and its notes on the patch's design describe.
describe('the examples of Kubernetes', () => {
  const web = { name: 'web', image: 'web:1' };
  it.each<[string, JsonObject, JsonObject, JsonObject]>([
    [
      'a patch that names another container gives a pod of two, the new one first',
      containers(web),
      containers({ name: 'cache', image: 'cache:1' }),
      containers({ name: 'cache', image: 'cache:1' }, web),
    ],
    [
      'a patch of tolerations, which have no merge key, replaces them',
      { spec: { tolerations: [{ key: 'dedicated', effect: 'NoSchedule' }] } },
      { spec: { tolerations: [{ key: 'disk', effect: 'NoSchedule' }] } },
      { spec: { tolerations: [{ key: 'disk', effect: 'NoSchedule' }] } },
    ],
    [
      'a list that says replace holds only what the patch holds',
      containers(web, { name: 'log' }),
      containers({ name: 'only' }, { $patch: 'replace' }),
      containers({ name: 'only' }),
    ],
    [
      'an item that says delete goes, the others stay',
      containers(web, { name: 'log' }),
      containers({ $patch: 'delete', name: 'log' }),
      containers(web),
    ],
    [
      'a map that says replace holds only what the patch holds',
      { spec: { nodeSelector: { a: '1', b: '2' } } },
      { spec: { nodeSelector: { $patch: 'replace', c: '3' } } },
      { spec: { nodeSelector: { c: '3' } } },
    ],
  ])('%s', (_title, target, patch, expected) => expect(merge(target, patch)).toEqual(expected));

  it('a change of strategy keeps the keys that it names, and clears those of the other strategy', () => {
    const strategy = (value: JsonObject): JsonObject => ({ spec: { strategy: value } });
    const live = strategy({ type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } });
    const patch = strategy({ type: 'Recreate', $retainKeys: ['type'] });
    expect(strategicMerge('berth.apps.v1.Deployment', live, patch)).toEqual(strategy({ type: 'Recreate' }));
  });
});
