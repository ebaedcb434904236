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
    ['adds an item of a new key', containers({ name: 'a' }), containers({ name: 'b' }), containers({ name: 'a' }, { name: 'b' })],
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
      'removes a map when it says so',
      { metadata: { labels: { a: '1' } } },
      { metadata: { labels: { $patch: 'delete' } } },
      { metadata: {} },
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
      'passes over an order of items',
      containers({ name: 'a' }),
      { spec: { '$setElementOrder/containers': [{ name: 'a' }] } },
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

  it('refuses items without their key and directives that it does not know', () => {
    expect(() => merge({}, containers({ image: 'x' }))).toThrow('an item of containers needs its name');
    expect(() => merge({}, { spec: { $patch: 'explode' } })).toThrow('$patch: "explode" is no directive');
    expect(() => merge({}, { spec: { $unknown: 1 } })).toThrow('$unknown: 1 is no directive');
  });
});
