import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { asks, writes } from './kubernetes-asks.ts';

// Discovery and OpenAPI after each change of a definition, read once, without a wait or a second try.
let server: RunningServer;
const ask = asks(() => server);
const { post, patch } = writes(ask);
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

beforeAll(async () => {
  server = await startServer({ backend: 'lmdb', kubernetesListen: '127.0.0.1:0' });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

function versionOf(name: string, field: string, more: JsonObject = {}): JsonObject {
  const spec = { type: 'object', properties: { [field]: { type: 'string' } } };
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } };
  return { name, served: true, storage: name === 'v1', schema, ...more };
}

function definitionOf(word: string, versions: JsonObject[]): JsonObject {
  const group = `${word}.example.com`;
  return {
    ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: `toys.${group}` } },
    spec: { group, scope: 'Namespaced', names: { plural: 'toys', kind: 'Toy', shortNames: ['ty'] }, versions },
  };
}

interface Served {
  /** The versions of the group, or undefined. */
  readonly versions: string[] | undefined;
  readonly resources: string[] | undefined;
  /** The properties of the spec, in OpenAPI of both versions. */
  readonly v2: string[] | undefined;
  readonly v3: string[] | undefined;
}

/** What each page says of a group and its version, each read once. */
const pages: Readonly<Record<keyof Served, (group: string, version: string) => Promise<string[] | undefined>>> = {
  async versions(group) {
    const { groups } = (await ask('/apis')).json as { groups: { name: string; versions: { version: string }[] }[] };
    return groups.find(({ name }) => name === group)?.versions.map(({ version }) => version);
  },
  async resources(group, version) {
    return (await ask(`/apis/${group}/${version}`)).json?.resources?.map(({ name }: { name: string }) => name);
  },
  async v2(group, version) {
    const { definitions } = (await ask('/openapi/v2', { headers: { accept: 'application/json' } })).json;
    return namesIn(definitions[`${schemaOf(group)}.${version}.Toy`]);
  },
  async v3(group, version) {
    const { json, code } = await ask(`/openapi/v3/apis/${group}/${version}`);
    return code === 200 ? namesIn(json.components.schemas[`${schemaOf(group)}.${version}.Toy`]) : undefined;
  },
};
const schemaOf = (group: string): string => group.split('.').reverse().join('.');
const namesIn = (schema: JsonObject | undefined): string[] | undefined => {
  const properties = schema?.properties as { spec?: { properties: object } } | undefined;
  return properties?.spec && Object.keys(properties.spec.properties);
};

it.each(Object.keys(pages) as (keyof Served)[])(
  'the page of %s shows a definition that was made, changed and deleted with the next read',
  async (page) => {
    const [group, path] = [`${page}.example.com`, `${definitions}/toys.${page}.example.com`];
    const read = (version = 'v1') => pages[page](group, version);
    const wanted = (versions: string[], field: string) =>
      ({ versions, resources: ['toys'], v2: [field], v3: [field] })[page] as string[];
    expect((await post(definitions, definitionOf(page, [versionOf('v1', 'first')]))).code).toBe(201);
    expect(await read()).toEqual(wanted(['v1'], 'first'));
    const changed = await patch(path, 'merge-patch+json', { spec: { versions: [versionOf('v1', 'second')] } });
    expect(changed.code).toBe(200);
    expect(await read()).toEqual(wanted(['v1'], 'second'));
    await patch(path, 'merge-patch+json', { spec: { versions: [versionOf('v1', 'second'), versionOf('v2', 'third')] } });
    expect(await read('v2')).toEqual(wanted(['v2', 'v1'], 'third'));
    expect((await ask(path, { method: 'DELETE' })).code).toBe(200);
    expect(await read()).toBeUndefined();
    expect(await read('v2')).toBeUndefined();
  },
);

it('twenty definitions that are made at once are all in the next read', async () => {
  const words = Array.from({ length: 20 }, (_, i) => `many${i}`);
  const { objects } = server.client;
  await Promise.all(words.map((word) => objects.create('CustomResourceDefinition', definitionOf(word, [versionOf('v1', 'f')]))));
  const { groups } = (await ask('/apis')).json as { groups: { name: string }[] };
  expect(groups.filter(({ name }) => name.startsWith('many'))).toHaveLength(words.length);
  await Promise.all(words.map((word) => objects.delete('CustomResourceDefinition', { name: `toys.${word}.example.com` })));
  const left = (await ask('/apis')).json as { groups: { name: string }[] };
  expect(left.groups.filter(({ name }) => name.startsWith('many'))).toEqual([]);
});

it('the list of kinds over gRPC shows a definition that was made and deleted with the next read', async () => {
  const { objects } = server.client;
  const kinds = async () => (await objects.kinds()).map(({ apiVersion }) => apiVersion);
  await objects.create('CustomResourceDefinition', definitionOf('grpc', [versionOf('v1', 'first')]));
  expect(await kinds()).toContain('grpc.example.com/v1');
  await objects.delete('CustomResourceDefinition', { name: 'toys.grpc.example.com' });
  expect(await kinds()).not.toContain('grpc.example.com/v1');
});
