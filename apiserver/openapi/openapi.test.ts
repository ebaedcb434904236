import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { messageType } from '../../api/codec/descriptors.ts';
import { comments as allComments } from '../../api/generated/comments.ts';
import { customDefinition } from './custom-definition.ts';
import { definitionName } from './definition-names.ts';
import { DefinitionMaker, type Schema } from './definitions.ts';
import { programHash } from './documents.ts';
import { encodeDocument, namedPath, namedSchema } from './gnostic.ts';
import { operationsOf } from './operations.ts';
import { requiredFields, requiredMessages } from './required-fields.ts';
import { writePath } from './write-operations.ts';

const comments = { 'berth.core.v1.Container': { image: 'What runs.' } };
const v2 = new DefinitionMaker(2, comments);
const v3 = new DefinitionMaker(3, comments);

describe('the definition of a message', () => {
  it('refers to others by the names that Kubernetes gives them', () => {
    const { schema, uses } = v2.ofMessage('berth.core.v1.Pod', { group: '', version: 'v1', kind: 'Pod' });
    expect(schema.properties).toMatchObject({
      kind: { type: 'string' },
      metadata: { $ref: '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' },
      spec: { $ref: '#/definitions/io.k8s.api.core.v1.PodSpec' },
    });
    expect(uses).toContain('berth.core.v1.PodSpec');
  });

  it('says how its lists merge and what it requires', () => {
    const { schema } = v2.ofMessage('berth.core.v1.Container');
    expect(schema.required).toEqual(['name']);
    expect((schema.properties as Schema).image).toEqual({ type: 'string', description: 'What runs.' });
    expect((schema.properties as Schema).ports).toMatchObject({
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['containerPort', 'protocol'],
      'x-kubernetes-patch-strategy': 'merge',
      'x-kubernetes-patch-merge-key': 'containerPort',
    });
  });

  it.each([
    ['berth.apps.v1.DeploymentSpec', 'strategy', 'retainKeys'],
    ['berth.policy.v1.PodDisruptionBudgetSpec', 'selector', 'replace'],
  ])('says how the message in a field merges: %s.%s by %s', (message, field, strategy) => {
    const mark = { 'x-kubernetes-patch-strategy': strategy };
    for (const comments of [{}, allComments]) {
      const [older, newer] = ([2, 3] as const).map((version) => {
        const { properties } = new DefinitionMaker(version, comments).ofMessage(message).schema;
        return (properties as Schema)[field];
      });
      expect(older).toMatchObject({ $ref: expect.any(String), ...mark });
      expect(newer).toMatchObject({ allOf: [{ $ref: expect.any(String) }], ...mark });
    }
  });

  it('shows the fields of inlined messages as its own', () => {
    expect(v2.ofMessage('berth.core.v1.Volume').schema.properties).toHaveProperty('configMap');
    expect(v2.ofMessage('berth.core.v1.EphemeralContainer').schema.properties).toHaveProperty('image');
  });

  it('leaves out that the client writes a field, which is true of nearly all', () => {
    const comments = { spec: 'What is wanted. Written by the client.', status: 'What is. Written by the agent.' };
    const { properties } = new DefinitionMaker(2, { 'berth.core.v1.Pod': comments }).ofMessage('berth.core.v1.Pod').schema;
    expect(properties).toMatchObject({
      spec: { description: 'What is wanted.' },
      status: { description: 'What is. Written by the agent.' },
    });
  });

  it('does not say once more what the field that holds the message says', () => {
    const said = 'How pods of an older template are replaced.';
    const { 'berth.apps.v1.DeploymentSpec': spec, 'berth.apps.v1.DeploymentStrategy': strategy } = allComments;
    expect([spec?.strategy, strategy?.['']]).toEqual([expect.stringContaining(said), said]);
    for (const maker of [new DefinitionMaker(2, allComments), new DefinitionMaker(3, allComments)]) {
      const { properties } = maker.ofMessage('berth.apps.v1.DeploymentSpec').schema as { properties: Schema };
      expect(properties.strategy).toMatchObject({ description: said });
      expect(maker.ofMessage('berth.apps.v1.DeploymentStrategy').schema.description).toBeUndefined();
      expect(maker.ofMessage('berth.core.v1.PodSpec').schema.description).toMatch(/./);
    }
  });

  it.each([
    ['berth.meta.v1.Quantity', { type: 'string' }, { oneOf: [{ type: 'string' }, { type: 'number' }] }],
    [
      'berth.meta.v1.IntOrString',
      { type: 'string', format: 'int-or-string' },
      { format: 'int-or-string', oneOf: [{ type: 'integer' }, { type: 'string' }] },
    ],
    ['google.protobuf.Timestamp', { type: 'string', format: 'date-time' }, { type: 'string', format: 'date-time' }],
    ['berth.meta.v1.RawExtension', { type: 'object' }, { type: 'object' }],
  ])('%s is the value that its JSON is', (message, inV2, inV3) => {
    expect([v2.ofMessage(message).schema, v3.ofMessage(message).schema]).toEqual([inV2, inV3]);
  });

  it('keeps what is said of a field beside a reference', () => {
    const maker = new DefinitionMaker(3, { 'berth.core.v1.Pod': { spec: 'What is wanted.' } });
    const { spec } = maker.ofMessage('berth.core.v1.Pod').schema.properties as Schema;
    expect(spec).toEqual({
      description: 'What is wanted.',
      allOf: [{ $ref: '#/components/schemas/io.k8s.api.core.v1.PodSpec' }],
    });
  });
});

it('the table of required fields names messages and fields that there are', () => {
  const unknown = requiredMessages().filter((name) => {
    try {
      return requiredFields(name).some((field) => !messageType(name).fields[field] && !name.endsWith('EphemeralContainer'));
    } catch {
      return true;
    }
  });
  expect(unknown).toEqual([]);
});

describe('the definition of a kind of a user', () => {
  const gvk = { group: 'a.example', version: 'v1', kind: 'Toy' };

  it('keeps its schema for v3, and what v2 can say of it for v2', () => {
    const schema = {
      type: 'object',
      properties: {
        port: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }] },
        free: { type: 'object', nullable: true },
      },
    };
    expect(customDefinition(schema, gvk, 3).properties).toMatchObject(schema.properties);
    const { port, free } = customDefinition(schema, gvk, 2).properties as Schema;
    expect([port, free]).toEqual([{ 'x-kubernetes-int-or-string': true }, {}]);
  });

  it('gives embedded resources the members of every object, so that they can be explained', () => {
    const open = { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true };
    const list = { type: 'array', items: open };
    const { properties } = customDefinition({ type: 'object', properties: { list } }, gvk, 3);
    const { list: told, ...own } = properties as { list: { items: Schema } } & Schema;
    expect(told.items).toEqual({ ...open, properties: own });
    expect(Object.keys(own).sort()).toEqual(['apiVersion', 'kind', 'metadata']);
  });

  it('is an object of anything where it has no schema', () => {
    expect(customDefinition(undefined, gvk, 3)).toMatchObject({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true });
  });

  it('has no properties for v2 where it keeps unknown fields, as kubectl would refuse all others', () => {
    const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { a: { type: 'string' } } };
    const gvks = { 'x-kubernetes-group-version-kind': [gvk] };
    expect(customDefinition(schema, gvk, 2)).toEqual({ type: 'object', ...gvks });
    expect(customDefinition(undefined, gvk, 2)).toEqual({ type: 'object', ...gvks });
    const { properties } = customDefinition(schema, gvk, 3);
    expect(Object.keys(properties as Schema)).toEqual(['a', 'apiVersion', 'kind', 'metadata']);
  });
});

it('the documents of another build have other names, so that no client takes those that it kept for them', () => {
  const hashOf = (name: string) => programHash(`file:///opt/${name}`);
  expect(hashOf('b/documents-Bb1.js')).not.toBe(hashOf('b/documents-Aa1.js'));
  expect(hashOf('c/documents-Aa1.js')).toBe(hashOf('b/documents-Aa1.js'));
});

describe('the forms of patches', () => {
  const resource = { name: 'toys', namespaced: true, kind: 'Toy', verbs: ['patch'] };
  const forms = { object: 'Toy', status: 'Status', patch: 'Patch', deleteOptions: 'DeleteOptions' };
  const patchForms = (custom: boolean, version: 2 | 3): string[] => {
    const operations = operationsOf({ group: 'a.example', version: 'v1' }, resource as never, { ...forms, custom })[0]![1];
    const { patch } = writePath(operations, version) as { patch: { consumes?: string[]; requestBody?: { content: object } } };
    return patch.consumes ?? Object.keys(patch.requestBody!.content);
  };

  it.each([2, 3] as const)('leave strategic ones out for kinds of users, in v%i', (version) => {
    const strategic = 'application/strategic-merge-patch+json';
    expect(patchForms(false, version)).toContain(strategic);
    expect(patchForms(true, version)).toEqual(patchForms(false, version).filter((form) => form !== strategic));
  });
});

/** The parts of gnostic's messages that a reader needs, written down apart from the encoder. */
const reader = protobuf.parse(`syntax = "proto3"; package t;
  message Any { string yaml = 2; }
  message NamedAny { string name = 1; Any value = 2; }
  message Type { repeated string value = 1; }
  message Items { repeated Schema schema = 1; }
  message Properties { repeated NamedSchema list = 1; }
  message Additional { Schema schema = 1; bool boolean = 2; }
  message NamedSchema { string name = 1; Schema value = 2; }
  message Schema { string ref = 1; string format = 2; string description = 4; repeated string required = 19;
    Additional additional = 21; Type type = 22; Items items = 23; Properties properties = 25; repeated NamedAny ext = 31; }
  message Query { string name = 4; string type = 6; }
  message NonBody { Query query = 3; }
  message Body { string name = 2; Schema schema = 5; }
  message Parameter { Body body = 1; NonBody nonBody = 2; }
  message Item { Parameter parameter = 1; }
  message Operation { string id = 5; repeated Item parameters = 8; repeated NamedAny ext = 13; }
  message PathItem { Operation patch = 8; }
  message NamedPath { string name = 1; PathItem value = 2; }
  message Paths { repeated NamedPath path = 2; }
  message Document { string swagger = 1; Paths paths = 8; Properties definitions = 9; }`).root;

it('the protobuf form is read by a decoder of its own', () => {
  const { schema } = v2.ofMessage('berth.core.v1.Container');
  const gvk = { group: '', version: 'v1', kind: 'Pod' };
  const parameters = [{ name: 'dryRun', in: 'query', type: 'string', description: 'd' } as const];
  const patch = { method: 'patch', action: 'patch', id: 'p', parameters, body: 'B', answer: 'A', gvk } as const;
  const bytes = encodeDocument({ title: 't', version: 'v' }, [namedPath('/p', [patch])], [namedSchema('C', schema)]);
  const type = reader.lookupType('t.Document');
  const read = type.toObject(type.decode(bytes)) as Record<string, { [name: string]: unknown }>;
  expect(read).toMatchObject({ swagger: '2.0', definitions: { list: [{ name: 'C', value: { required: ['name'] } }] } });
  const [definition] = read.definitions!.list as { value: { properties: { list: { name: string; value: object }[] } } }[];
  const ports = definition!.value.properties.list.find(({ name }) => name === 'ports')!.value;
  expect(ports).toMatchObject({
    type: { value: ['array'] },
    items: { schema: [{ ref: `#/definitions/${definitionName('berth.core.v1.ContainerPort')}` }] },
  });
  const [path] = read.paths!.path as {
    value: { patch: { parameters: object[]; ext: { name: string; value: { yaml: string } }[] } };
  }[];
  const operation = path!.value.patch;
  expect(operation.parameters).toMatchObject([
    { parameter: { body: { name: 'body', schema: { ref: '#/definitions/B' } } } },
    { parameter: { nonBody: { query: { name: 'dryRun', type: 'string' } } } },
  ]);
  const said = operation.ext.find(({ name }) => name === 'x-kubernetes-group-version-kind')!;
  expect(JSON.parse(said.value.yaml)).toEqual(gvk);
});
