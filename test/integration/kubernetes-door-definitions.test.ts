import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { asks } from './kubernetes-asks.ts';

// CustomResourceDefinitions in Kubernetes' protobuf.
let server: RunningServer;
const ask = asks(() => server);

const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const protobuf = 'application/vnd.kubernetes.protobuf';
const definitionOf = (plural: string, kind: string) => ({
  ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: `${plural}.example.com` } },
  spec: {
    ...{ group: 'example.com', scope: 'Namespaced', names: { plural, singular: kind.toLowerCase(), kind } },
    versions: ['v1', 'v2'].map((name) => ({
      ...{ name, served: true, storage: name === 'v2', subresources: { status: {} } },
      additionalPrinterColumns: [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }],
      schema: {
        openAPIV3Schema: {
          type: 'object',
          description: `of ${name}`,
          properties: {
            spec: {
              type: 'object',
              required: ['size'],
              properties: { size: { type: 'integer', minimum: 0, maximum: 3, default: 1 } },
            },
            status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          },
        },
      },
    })),
  },
});

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

it('a definition is read and written in protobuf, with its schemas', async () => {
  const made = await ask(path, { method: 'POST', body: definitionOf('toys', 'Toy'), headers: { accept: protobuf } });
  expect([made.code, made.headers['content-type']]).toEqual([201, protobuf]);
  const { json } = await ask(`${path}/toys.example.com`);
  const read = await ask(`${path}/toys.example.com`, { headers: { accept: protobuf } });
  expect(read.bytes.includes(Buffer.from('toys.example.com'))).toBe(true);
  // Of a schema nothing is JSON.
  expect(read.text).not.toContain('"properties"');
  const headers = { 'content-type': protobuf, 'content-length': String(read.bytes.length) };
  const same = await ask(`${path}/toys.example.com`, { method: 'PUT', body: read.bytes, headers });
  expect([same.code, same.json]).toEqual([200, json]);
  const other = Buffer.from(read.bytes);
  other.write('OF v1', other.indexOf('of v1'));
  const changed = await ask(`${path}/toys.example.com`, { method: 'PUT', body: other, headers });
  expect(changed.json.metadata.generation).toBe(2);
  expect(changed.json.spec.versions[0].schema.openAPIV3Schema).toEqual({
    ...json.spec.versions[0].schema.openAPIV3Schema,
    description: 'OF v1',
  });
});

it('definitions are listed and watched in protobuf', async () => {
  await ask(path, { method: 'POST', body: definitionOf('dolls', 'Doll') });
  const list = await ask(path, { headers: { accept: protobuf } });
  expect([list.code, list.headers['content-type']]).toEqual([200, protobuf]);
  expect(list.text).toContain('dolls.example.com');
  expect(list.text).not.toContain('"properties"');
  const watch = await ask(`${path}?watch=1&timeoutSeconds=1`, { headers: { accept: protobuf } });
  expect(watch.headers['content-type']).toBe(`${protobuf};stream=watch`);
  expect(watch.text).toContain('dolls.example.com');
  expect(watch.text).not.toContain('"properties"');
});

it('a body with a schema that cannot be read is refused', async () => {
  const { bytes } = await ask(`${path}/dolls.example.com`, { headers: { accept: protobuf } });
  const headers = { 'content-type': protobuf, 'content-length': String(bytes.length) };
  const wrong = Buffer.from(bytes);
  // The number 4 (a description) becomes one that the message does not have.
  const at = wrong.indexOf(Buffer.from('of v1')) - 2;
  expect(wrong[at]).toBe(0x22);
  wrong[at] = 0x6a;
  const refused = await ask(`${path}/dolls.example.com`, { method: 'PUT', body: wrong, headers });
  expect([refused.code, refused.json.reason]).toEqual([400, 'BadRequest']);
});
