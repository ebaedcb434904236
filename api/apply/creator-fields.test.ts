import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { randomMessage } from '../../test/fakes/random-message.ts';
import { messageType } from '../codec/descriptors.ts';
import { toJson } from '../codec/json.ts';
import { jsonBytes } from '../codec/json-bytes.ts';
import { JsonMemory } from '../codec/json-memory.ts';
import { JsonOutput } from '../codec/json-output.ts';
import { decodeMessage, encodeMessage } from '../codec/message.ts';
import { typeOfMessage } from '../codec/message-type.ts';
import type { ManagedFieldsEntry } from '../generated/types.ts';
import { kindNamed, kinds } from '../kinds/index.ts';
import type { ApiObject, Kind } from '../kinds/kind.ts';
import type { FieldSet } from '../meta/field-set.ts';
import { spellOut, speltEntries, speltJson, writeSpeltJson } from './creator-fields.ts';
import { fieldsOf } from './fields-of.ts';
import { managedPart } from './managers.ts';

const mark = { manager: 'creator', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1' };
const entryOf = (manager: string, set: FieldSet, more: ManagedFieldsEntry = {}): ManagedFieldsEntry => ({
  ...{ ...mark, manager, ...more },
  fieldsV1: { Raw: Buffer.from(JSON.stringify(set)) },
});
const parsed = (entries: readonly ManagedFieldsEntry[] = []) =>
  entries.map(({ fieldsV1, ...entry }) => [entry, fieldsV1 && JSON.parse(Buffer.from(fieldsV1.Raw ?? []).toString())]);
const withEntries = (object: ApiObject, managedFields: ManagedFieldsEntry[]): ApiObject => ({
  ...object,
  metadata: { ...object.metadata, managedFields },
});

/** A part of a set: some of its steps, some of them without what is below. */
function partOf(set: FieldSet, choose: () => number): FieldSet {
  const steps = Object.entries(set).filter(() => choose() % 2 === 0);
  return Object.fromEntries(steps.map(([step, below]) => [step, choose() % 4 === 0 ? {} : partOf(below, choose)]));
}

/** Compares with what the decoded object gives; the rest of the object stays as it was. */
function check(kind: Kind, object: ApiObject): void {
  const bytes = encodeMessage(kind.message, object);
  const spelt = decodeMessage<ApiObject>(kind.message, spellOut(kind, bytes));
  const expected = decodeMessage<ApiObject>(kind.message, bytes);
  expect(parsed(spelt.metadata?.managedFields)).toEqual(parsed(speltEntries(kind, expected)));
  expect(withEntries(spelt, [])).toEqual(withEntries(expected, []));
  expect(speltJson(kind, bytes).toString()).toBe(jsonBytes(kind, spellOut(kind, bytes)).toString());
}

describe('the fields of a creator, spelt out in the bytes of an object', () => {
  it.each((kinds as readonly Kind[]).map((kind) => [kind.kind, kind] as const))(
    'are those of the decoded object: %s',
    (_, kind) => {
      const message = randomMessage(messageType(kind.message), 5) as fc.Arbitrary<ApiObject>;
      const property = fc.property(message, fc.infiniteStream(fc.nat(100)), (object, numbers) => {
        const choose = (): number => numbers.next().value as number;
        const all = fieldsOf(typeOfMessage(kind.message), managedPart(toJson(kind, object), '', kind.hasStatus));
        const own = { ...mark, apiVersion: kind.apiVersion };
        check(kind, withEntries(object, [own]));
        check(kind, withEntries(object, [own, entryOf('other', partOf(all, choose)), entryOf('applier', partOf(all, choose))]));
      });
      fc.assert(property, { numRuns: 8, seed: 12 });
    },
  );

  const pod = kindNamed('Pod') as Kind;
  const podOf = (managedFields: ManagedFieldsEntry[]): ApiObject =>
    ({
      metadata: { name: 'a', namespace: 'b', uid: 'c', labels: { app: 'x' }, annotations: { 'a"b': 'y' }, managedFields },
      spec: {
        containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 80 }], resources: {}, env: [{ name: 'E', value: '' }] }],
        nodeSelector: { disk: 'ssd' },
        volumes: [{ name: 'v', volumeSource: { emptyDir: {} } }],
      },
      status: { phase: 'Running' },
    }) as ApiObject;
  const setOf = (kind: Kind, object: ApiObject): unknown => {
    const bytes = spellOut(kind, encodeMessage(kind.message, object));
    return parsed(decodeMessage<ApiObject>(kind.message, bytes).metadata?.managedFields)[0]?.[1];
  };

  it('are those of the spec and of what clients write of the metadata', () => {
    check(pod, podOf([mark]));
    expect(setOf(pod, podOf([mark]))).toMatchObject({
      'f:metadata': { 'f:labels': { 'f:app': {} }, 'f:annotations': { 'f:a"b': {} } },
      'f:spec': {
        'f:containers': {
          'k:{"name":"c"}': {
            '.': {},
            'f:image': {},
            'f:ports': { 'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} } },
            'f:resources': {},
          },
        },
        'f:nodeSelector': {},
      },
    });
    expect(Object.keys(setOf(pod, podOf([mark])) as object)).toEqual(['f:metadata', 'f:spec']);
  });

  it('are not those that another entry names, and a status is none of them', () => {
    const status = entryOf('agent', { 'f:status': { 'f:phase': {} } }, { subresource: 'status' });
    expect(setOf(pod, podOf([mark, status]))).toEqual(setOf(pod, podOf([mark])));
    const labels = entryOf('other', { 'f:metadata': { 'f:labels': { 'f:app': {} } } });
    expect(setOf(pod, podOf([mark, status, labels]))).not.toHaveProperty(['f:metadata', 'f:labels']);
    check(pod, podOf([mark, status, labels]));
  });

  it('are not those that an entry of more than a status names', () => {
    // As custom kinds are: only those have fields behind the status, or a status that is like any other field.
    const custom = (name: 'Secret' | 'Job', hasStatus: boolean): Kind => {
      const kind = kindNamed(name) as Kind;
      return { ...kind, hasStatus, fieldType: () => typeOfMessage(kind.message) };
    };
    const both = entryOf('other', { 'f:status': {}, 'f:type': {} });
    const secret = { type: 'a', immutable: true } as ApiObject;
    expect(setOf(custom('Secret', true), withEntries(secret, [mark, both]))).toEqual({ 'f:immutable': {} });
    const status = entryOf('other', { 'f:status': { 'f:active': {} } }, { subresource: 'status' });
    const job = { spec: { parallelism: 1 }, status: { active: 1, failed: 2 } } as ApiObject;
    const spelt = withEntries(job, [{ ...mark, apiVersion: 'batch/v1' }, status]);
    expect(setOf(custom('Job', false), spelt)).toEqual({
      'f:spec': { 'f:parallelism': {} },
      'f:status': { 'f:failed': {} },
    });
    check(custom('Job', false), spelt);
  });

  it('are not those that an entry of a status names besides it', () => {
    const labels = { 'f:metadata': { 'f:labels': { 'f:app': {} } } };
    for (const set of [
      { ...labels, 'f:status': {} },
      { 'f:status': {}, ...labels },
    ]) {
      const object = podOf([mark, entryOf('other', set, { subresource: 'status' })]);
      check(pod, object);
      expect(setOf(pod, object)).not.toHaveProperty(['f:metadata', 'f:labels']);
    }
  });

  it('are those of the first of two entries without a set', () => {
    const object = podOf([mark, { ...mark, manager: 'second' }]);
    check(pod, object);
    expect(setOf(pod, object)).toEqual(setOf(pod, podOf([mark])));
  });

  it('of an object with items of the same key are those of the decoded object', () => {
    const object = podOf([mark]) as { spec: { containers: { env: object[] }[] } };
    object.spec.containers[0]!.env.push({ name: 'E', value: 'again' });
    check(pod, object as ApiObject);
  });

  it('are written as JSON in a list of objects that are nearly the same', () => {
    const objects = ['a', 'b', 'c'].flatMap((name) =>
      ['x', 'y'].map((key) => {
        const { metadata, ...rest } = podOf(
          [mark, entryOf('other', { 'f:spec': { 'f:nodeSelector': {} } })].slice(0, name === 'b' ? 2 : 1),
        );
        const volume = { name: `token-${name}`, volumeSource: { configMap: { localObjectReference: { name: key } } } };
        const spec = (rest as { spec: object }).spec;
        return encodeMessage(pod.message, { ...rest, metadata: { ...metadata, name }, spec: { ...spec, volumes: [volume] } });
      }),
    );
    const out = new JsonOutput(16, new JsonMemory());
    for (const bytes of objects) {
      writeSpeltJson(pod, bytes, out, true);
      out.comma();
    }
    const expected = objects.map((bytes) => `${jsonBytes(pod, spellOut(pod, bytes), true).toString()},`);
    expect(out.copy().toString()).toBe(expected.join(''));
  });

  it.each([13, 100])('of a list of %s items with two of the same key are those of the decoded object', (count) => {
    const object = podOf([mark]) as { spec: { containers: { env: object[] }[] } };
    object.spec.containers[0]!.env = Array.from({ length: count }, (_, i) => ({ name: `E${i}`, value: 'x' }));
    check(pod, object as ApiObject);
    expect(setOf(pod, object as ApiObject)).toHaveProperty([
      'f:spec',
      'f:containers',
      'k:{"name":"c"}',
      'f:env',
      `k:{"name":"E${count - 1}"}`,
    ]);
    object.spec.containers[0]!.env.push({ name: 'E3', value: 'again' });
    check(pod, object as ApiObject);
  });

  it('name keys as JSON has them', () => {
    const object = podOf([mark]) as { metadata: { labels: object }; spec: { containers: { name: string }[] } };
    object.metadata.labels = { 'a"\\\u0007é': 'x', '': 'y', 1: 'z' };
    object.spec.containers[0]!.name = 'c"\\\n\u0001é';
    check(pod, object as unknown as ApiObject);
    expect(setOf(pod, object as unknown as ApiObject)).toHaveProperty([
      'f:spec',
      'f:containers',
      `k:${JSON.stringify({ name: 'c"\\\n\u0001é' })}`,
      'f:name',
    ]);
  });

  it.each<[string, ManagedFieldsEntry[]]>([
    ['no entries', []],
    ['entries that all have sets', [entryOf('a', { 'f:spec': {} })]],
    ['a creator that wrote another version of it', [{ ...mark, apiVersion: 'v2' }]],
  ])('are not looked for in an object with %s', (_, entries) => {
    const bytes = encodeMessage(pod.message, podOf(entries));
    expect(spellOut(pod, bytes)).toBe(bytes);
  });

  it('leave no entry where there are none', () => {
    check(pod, { metadata: { name: 'a', managedFields: [mark] } } as ApiObject);
    const bytes = encodeMessage(pod.message, { metadata: { name: 'a', managedFields: [mark] } });
    expect(decodeMessage<ApiObject>(pod.message, spellOut(pod, bytes)).metadata).toEqual({ name: 'a' });
  });
});
