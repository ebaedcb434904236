import { describe, expect, it } from 'vitest';
import { computeApply, type OwnedFields } from '../../api/apply/apply.ts';
import type { MapType } from '../../api/apply/field-type.ts';
import { fieldPaths } from '../../api/apply/steps.ts';
import type { Json, JsonObject } from '../../api/meta/merge-patch.ts';
import { compileSchema } from './compile-schema.ts';
import { fieldTypeOfKind } from './field-type-of.ts';

const text = { type: 'string' };
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...more });

function typeOf(spec: JsonObject): MapType {
  const { schema, violations } = compileSchema(object({ spec: object(spec) }), { path: 'schema' });
  expect(violations ?? []).toEqual([]);
  return fieldTypeOfKind(schema!.root);
}

/** Ada and Bob apply one after the other. */
function applied(schema: JsonObject, ada: Json, bob: Json) {
  const type = typeOf({ v: schema });
  let owned: OwnedFields = new Map();
  let live: JsonObject = {};
  for (const [applier, v] of [
    ['ada', ada],
    ['bob', bob],
  ] as const) {
    const outcome = computeApply({ type, live, config: { spec: { v } }, owned, applier, force: false });
    if (outcome.kind === 'conflicts') return { conflicts: outcome.conflicts.flatMap(({ fields }) => fieldPaths(fields)) };
    [live, owned] = [outcome.object, outcome.owned];
  }
  return { v: (live.spec as JsonObject).v, bob: fieldPaths(owned.get('bob') ?? {}) };
}

const ports = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['port', 'protocol'],
  items: object({ port: { type: 'integer' }, protocol: { ...text, default: 'TCP' }, name: text }, { required: ['port'] }),
};

describe('server-side apply by a schema', () => {
  it.each<[string, JsonObject, Json, Json, object]>([
    [
      'merges a list of the type map item by item, told apart by all keys and their defaults',
      ports,
      [{ port: 53, protocol: 'UDP' }],
      [{ port: 53, name: 'dns' }],
      {
        v: [
          { port: 53, protocol: 'UDP' },
          { port: 53, name: 'dns' },
        ],
        bob: ['.spec.v[port=53,protocol="TCP"]', '.spec.v[port=53,protocol="TCP"].name', '.spec.v[port=53,protocol="TCP"].port'],
      },
    ],
    [
      'names the field of the item that another manager owns',
      ports,
      [{ port: 53, name: 'a' }],
      [{ port: 53, protocol: 'TCP', name: 'b' }],
      { conflicts: ['.spec.v[port=53,protocol="TCP"].name'] },
    ],
    [
      'merges a set value by value',
      { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
      ['a', 'b'],
      ['b', 'c'],
      { v: ['a', 'b', 'c'], bob: ['.spec.v[="b"]', '.spec.v[="c"]'] },
    ],
    ['takes any other list as one value', { type: 'array', items: text }, ['a'], ['b'], { conflicts: ['.spec.v'] }],
    [
      'merges an object member by member',
      object({ x: text, y: text }),
      { x: '1' },
      { y: '2' },
      { v: { x: '1', y: '2' }, bob: ['.spec.v.y'] },
    ],
    [
      'takes an object of the map type atomic as one value',
      object({ x: text, y: text }, { 'x-kubernetes-map-type': 'atomic' }),
      { x: '1' },
      { y: '2' },
      { conflicts: ['.spec.v'] },
    ],
    [
      'merges the keys of a map, and what the schema of its values says',
      { type: 'object', additionalProperties: ports },
      { a: [{ port: 1 }] },
      { a: [{ port: 2 }] },
      {
        v: { a: [{ port: 1 }, { port: 2 }] },
        bob: ['.spec.v.a', '.spec.v.a[port=2,protocol="TCP"]', '.spec.v.a[port=2,protocol="TCP"].port'],
      },
    ],
    [
      'merges what is kept without a schema as objects, with lists as one value',
      { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      { x: { a: 1 } },
      { x: { b: [1] } },
      { v: { x: { a: 1, b: [1] } }, bob: ['.spec.v.x', '.spec.v.x.b'] },
    ],
    [
      'merges the metadata of an embedded object as those of every object',
      { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
      { metadata: { finalizers: ['a'] } },
      { metadata: { finalizers: ['b'] } },
      { v: { metadata: { finalizers: ['a', 'b'] } }, bob: ['.spec.v.metadata.finalizers[="b"]'] },
    ],
  ])('%s', (_title, schema, ada, bob, expected) => expect(applied(schema, ada, bob)).toEqual(expected));

  it('removes the item that its manager leaves out, and keeps those of others', () => {
    const type = typeOf({ v: ports });
    const config = (...v: Json[]): JsonObject => ({ spec: { v } });
    let state = { object: {} as JsonObject, owned: new Map() as OwnedFields };
    for (const [applier, wanted] of [
      ['ada', config({ port: 1 }, { port: 2 })],
      ['bob', config({ port: 2, name: 'b' })],
      ['ada', config({ port: 3 })],
    ] as const) {
      const outcome = computeApply({ type, live: state.object, config: wanted, owned: state.owned, applier, force: false });
      if (outcome.kind === 'conflicts') throw new Error('no conflict is expected');
      state = outcome;
    }
    expect(state.object).toEqual(config({ port: 2, name: 'b' }, { port: 3 }));
  });
});
