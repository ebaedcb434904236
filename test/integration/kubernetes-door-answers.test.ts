import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { asks } from './kubernetes-asks.ts';

// How answers of Kubernetes' HTTP API are sent: compressed where they are large, laid out where a person reads.
let server: RunningServer;
const ask = asks(() => server);

const maps = '/api/v1/namespaces/default/configmaps';
const mapOf = (name: string, text: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { text } });
const gzip = { 'accept-encoding': 'gzip, deflate, br' };

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
  await ask(maps, { method: 'POST', body: mapOf('large', 'x'.repeat(300_000)) });
  await ask(maps, { method: 'POST', body: mapOf('small', 'y') });
  // More than one page of a list.
  const path = '/api/v1/namespaces/kube-system/configmaps';
  for (let index = 0; index < 5; index++)
    await ask(path, { method: 'POST', body: mapOf(`big-${index}`, String(index).repeat(600_000)) });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

describe('an answer of more than 128 KiB', () => {
  it.each([
    ['an object', `${maps}/large`, 'application/json'],
    ['an object in protobuf', `${maps}/large`, 'application/vnd.kubernetes.protobuf'],
    ['a list', maps, 'application/json'],
    ['a list of several pages', '/api/v1/configmaps', 'application/json'],
    ['a list in protobuf', '/api/v1/configmaps', 'application/vnd.kubernetes.protobuf'],
  ])('is compressed for a client that reads gzip: %s', async (_, path, accept) => {
    const plain = await ask(path, { headers: { accept } });
    const sent = await ask(path, { headers: { accept, ...gzip } });
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect([sent.code, sent.headers['content-encoding'], sent.headers.vary]).toEqual([200, 'gzip', 'Accept-Encoding']);
    expect(sent.bytes.length).toBeLessThan(plain.bytes.length / 10);
    const length = sent.headers['content-length'];
    expect(length === undefined || Number(length) === sent.bytes.length).toBe(true);
    expect(gunzipSync(sent.bytes).equals(plain.bytes)).toBe(true);
  });

  it.each(['', 'br', 'gzip;q=0', 'identity, gzip; q=0.0'])('is sent as it is for one that takes "%s"', async (accepted) => {
    const sent = await ask(`${maps}/large`, { headers: { 'accept-encoding': accepted } });
    expect([sent.headers['content-encoding'], sent.json.data.text.length]).toEqual([undefined, 300_000]);
  });
});

it('a smaller answer, and a watch, are never compressed', async () => {
  const small = await ask(`${maps}/small`, { headers: gzip });
  expect(small.headers['content-encoding']).toBeUndefined();
  const there = (await ask(maps)).json.items.length;
  expect(there).toBeGreaterThan(1);
  const watch = await ask(`${maps}?watch=1&timeoutSeconds=1`, { headers: gzip });
  expect([watch.headers['content-encoding'], watch.text.split('\n').length]).toEqual([undefined, there + 1]);
});

it('a body that is compressed is read by no kind of request', async () => {
  const headers = { 'content-encoding': 'gzip' };
  expect((await ask(maps, { method: 'POST', body: mapOf('z', 'z'), headers })).code).toBe(415);
});

describe('JSON is laid out', () => {
  const indented = (value: unknown): string => JSON.stringify(value, null, 2);

  it.each([
    ['an object', `${maps}/small?pretty=true`],
    ['a list', `${maps}?pretty=1`],
    ['an empty list', '/api/v1/namespaces/none/pods?pretty'],
    ['a list of several pages', '/api/v1/namespaces/kube-system/configmaps?pretty=true'],
    ['a table', `${maps}?pretty=true&includeObject=None`],
    ['an error', `${maps}/none?pretty=true`],
    ['discovery', '/api/v1?pretty=true'],
  ])('where the query asks for it: %s', async (what, path) => {
    const accept: Record<string, string> = what === 'a table' ? { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } : {};
    const { json, text } = await ask(path, { headers: accept });
    // No program writes an empty list of several lines.
    expect(text.replace(/\[\s*\]/, '[]')).toBe(indented(json));
  });

  it('for programs behind which a person reads, if they do not say otherwise', async () => {
    const curl = { 'user-agent': 'curl/8.5.0' };
    const { json, text } = await ask(`${maps}/small`, { headers: curl });
    expect(text).toBe(indented(json));
    expect((await ask(`${maps}/small?pretty=false`, { headers: curl })).text).toBe(JSON.stringify(json));
    expect((await ask(`${maps}/small`)).text).toBe(JSON.stringify(json));
  });

  it('and is the same document', async () => {
    const path = '/api/v1/configmaps';
    expect((await ask(`${path}?pretty=true`)).json).toEqual((await ask(path)).json);
    expect((await ask(`${path}?pretty=maybe`)).json).toMatchObject({ code: 400, reason: 'BadRequest' });
  });
});

it('OpenAPI v3 is answered as protobuf, by either of its names, with a tag of its own', async () => {
  const { json } = await ask('/openapi/v3');
  const path: string = json.paths['apis/apps/v1'].serverRelativeURL;
  const plain = await ask(path);
  for (const of of ['v3@v1.0', 'v3.v1.0']) {
    const accept = `application/com.github.proto-openapi.spec.${of}+protobuf`;
    const { code, headers, bytes } = await ask(path, { headers: { accept } });
    expect([code, headers['content-type']]).toEqual([200, 'application/com.github.proto-openapi.spec.v3.v1.0+protobuf']);
    expect(bytes.subarray(0, 7).toString('latin1')).toBe('\n\u00053.0.0');
    expect(bytes.includes('io.k8s.api.apps.v1.Deployment')).toBe(true);
    expect(headers.etag).not.toBe(plain.headers.etag);
    const again = await ask(path, { headers: { accept, 'if-none-match': headers.etag! } });
    expect([again.code, again.bytes.length]).toEqual([304, 0]);
  }
  expect((await ask(path, { headers: { accept: 'text/html' } })).code).toBe(406);
});
