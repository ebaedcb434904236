import { describe, expect, it } from 'vitest';
import { fromJson, readObject, toJson } from '../../codec/json.ts';
import { findUnsayable } from '../../codec/value-checks.ts';
import { parseManifests } from '../../codec/yaml.ts';
import type { ControllerRevision } from '../../generated/types.ts';
import type { JsonObject } from '../../meta/merge-patch.ts';
import { controllerRevision as kind } from './kind.ts';

const data: JsonObject = { spec: { template: { $patch: 'replace', count: 1.5, rest: [null, 'x', { a: {} }], none: null } } };
const revisionOf = (json: JsonObject): ControllerRevision =>
  fromJson<ControllerRevision>(kind, { metadata: { name: 'web-1' }, ...json });

describe('the data', () => {
  it('comes back from JSON as it was, whatever is in it', () => {
    expect(toJson(kind, revisionOf({ data, revision: 3 }))).toMatchObject({ data, revision: 3 });
  });

  it('is read from YAML like from JSON', () => {
    const text =
      'apiVersion: apps/v1\nkind: ControllerRevision\nmetadata: {name: web-1}\ndata: {a: [1, null, {b: x}]}\nrevision: 2\n';
    const [document] = parseManifests(text, 'file.yaml');
    if (!document || !('object' in document)) throw new Error(JSON.stringify(document));
    expect(toJson(kind, document.object)).toMatchObject({ data: { a: [1, null, { b: 'x' }] }, revision: 2 });
  });

  it('is refused when it is no JSON object', () => {
    for (const wrong of [[1], 'text', 5, true])
      expect(readObject(kind, { data: wrong }).violations).toMatchObject([{ field: 'data', reason: 'FieldValueTypeInvalid' }]);
    const bytes = (text: string): ControllerRevision => ({ data: { raw: Buffer.from(text) } });
    expect(
      [bytes('{"a":1}'), bytes('[1]'), bytes('{')].map((each) => findUnsayable(kind, each).map(({ field }) => field)),
    ).toEqual([[], ['data'], ['data']]);
  });

  it('is required', () => {
    expect(kind.validate(revisionOf({})).map(({ field, description }) => `${field}: ${description}`)).toEqual([
      'data: is required: data is mandatory',
    ]);
    expect(kind.validate(revisionOf({ data: {} }))).toEqual([]);
  });

  it('never changes, however it is written', () => {
    const before: ControllerRevision = { data: { raw: Buffer.from('{ "a": 1.0, "b": 2 }') } };
    const same: ControllerRevision = { data: { raw: Buffer.from('{"b":2,"a":1}') } };
    expect(kind.validateUpdate(same, before)).toEqual([]);
    kind.lifecycle?.prepareForUpdate?.(same, before);
    expect(same.data).toEqual(before.data);
    expect(
      kind.validateUpdate(revisionOf({ data: { a: 2 } }), before).map(({ field, description }) => `${field}: ${description}`),
    ).toEqual(['data: invalid value "{\\"a\\":2}": field is immutable']);
  });
});

it('may get another number, which is not negative', () => {
  expect(kind.validateUpdate(revisionOf({ data, revision: 7 }), revisionOf({ data, revision: 3 }))).toEqual([]);
  expect(kind.validate(revisionOf({ data, revision: -1 })).map(({ field }) => field)).toEqual(['revision']);
});

it('shows who keeps it', () => {
  const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: 'u', controller: true };
  const cells = (object: ControllerRevision) => kind.columns.slice(0, 3).map(({ cell }) => cell(object, new Date()));
  expect(cells({ metadata: { name: 'web-1', ownerReferences: [owner] }, revision: 3 })).toEqual([
    'web-1',
    'statefulset.apps/web',
    '3',
  ]);
  expect(cells({ metadata: { name: 'x' } })).toEqual(['x', '<none>', '0']);
});
