import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningServer, startServer } from './apiserver-harness.ts';

// Kubernetes' HTTP API as its clients speak it: paths, forms of answers, codes.
let server: RunningServer;

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

interface Answer {
  readonly code: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the JSON of any answer
  readonly json: any;
}

interface Asked {
  readonly method?: string;
  readonly body?: string | Buffer | object;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly anonymous?: true;
}

async function open(path: string, { method = 'GET', body, headers = {}, anonymous }: Asked = {}): Promise<IncomingMessage> {
  const [host, port] = server.info.kubernetes!.split(':');
  const { ca, cert, key } = server.admin;
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const options = { host, port, path, method, ca, agent: false, headers: { ...type, ...headers } };
  const call = request({ ...options, ...(anonymous ? {} : { cert, key }) });
  call.end(typeof body === 'object' && !Buffer.isBuffer(body) ? JSON.stringify(body) : body);
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  return response;
}

async function ask(path: string, asked: Asked = {}): Promise<Answer> {
  const response = await open(path, asked);
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  const text = Buffer.concat(pieces).toString('utf8');
  const isJson = response.headers['content-type']?.startsWith('application/json') ?? false;
  return { code: response.statusCode!, headers: response.headers, text, json: isJson && text ? JSON.parse(text) : undefined };
}

const maps = '/api/v1/namespaces/default/configmaps';
const mapOf = (name: string, data: object = {}) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data });
const create = (name: string, data: object = {}) => ask(maps, { method: 'POST', body: mapOf(name, data) });

describe('an object', () => {
  it('is created, read, replaced, patched and deleted', async () => {
    const created = await create('a', { x: '1' });
    expect(created).toMatchObject({ code: 201, json: { kind: 'ConfigMap', metadata: { name: 'a', namespace: 'default' } } });
    expect((await ask(`${maps}/a`)).json).toEqual(created.json);
    const replaced = { ...created.json, data: { x: '2' } };
    expect((await ask(`${maps}/a`, { method: 'PUT', body: replaced })).json.data).toEqual({ x: '2' });
    const stale = await ask(`${maps}/a`, { method: 'PUT', body: replaced });
    expect(stale).toMatchObject({ code: 409, json: { kind: 'Status', reason: 'Conflict', code: 409 } });
    const headers = { 'content-type': 'application/merge-patch+json' };
    const patched = await ask(`${maps}/a`, { method: 'PATCH', body: { data: { y: '3' } }, headers });
    expect(patched.json.data).toEqual({ x: '2', y: '3' });
    expect((await ask(`${maps}/a`, { method: 'DELETE' })).code).toBe(200);
    expect(await ask(`${maps}/a`)).toMatchObject({
      code: 404,
      json: { kind: 'Status', status: 'Failure', reason: 'NotFound', details: { name: 'a', kind: 'configmaps' } },
    });
  });

  it('is no YAML that would keep the server busy', async () => {
    const headers = { 'content-type': 'application/yaml' };
    const keys = Array.from({ length: 20_000 }, (_, index) => `  key${String(index).padStart(6, '0')}: v\n`).join('');
    const many = await ask(maps, { method: 'POST', body: `kind: ConfigMap\ndata:\n${keys}`, headers });
    expect(many).toMatchObject({ code: 400, json: { message: expect.stringContaining('send it as JSON') } });
    const broken = await ask(maps, { method: 'POST', body: 'kind: ConfigMap\ndata: {a: "1"\n', headers });
    expect(broken).toMatchObject({ code: 400, json: { message: expect.stringContaining('cannot read the body as YAML: line') } });
  });

  it('may be written as YAML and as protobuf, and is read as both', async () => {
    const yaml = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\ndata: {a: b}\n';
    const headers = { 'content-type': 'application/yaml', accept: 'application/yaml' };
    const made = await ask(maps, { method: 'POST', body: yaml, headers });
    expect(made.text).toContain('a: b');
    const accept = { accept: 'application/vnd.kubernetes.protobuf' };
    const response = await open(`${maps}/yaml`, { headers: accept });
    const pieces: Buffer[] = [];
    for await (const piece of response) pieces.push(piece as Buffer);
    const body = Buffer.concat(pieces);
    expect(body.subarray(0, 4).toString('latin1')).toBe('k8s\0');
    const back = await ask(`${maps}/yaml`, {
      method: 'PUT',
      body,
      headers: { 'content-type': 'application/vnd.kubernetes.protobuf' },
    });
    expect(back).toMatchObject({ code: 200, json: { data: { a: 'b' } } });
  });

  it('is not taken for another than the path names', async () => {
    await create('named');
    const wrong = await ask(`${maps}/named`, { method: 'PUT', body: mapOf('other') });
    expect(wrong).toMatchObject({ code: 400, json: { message: expect.stringContaining('does not match') } });
  });

  it.each([
    ['Warn', 201, '299 - "unknown field \\"nonsense\\""'],
    ['Ignore', 201, undefined],
    ['Strict', 400, undefined],
  ])('with fields that its kind does not have is judged by fieldValidation=%s', async (mode, code, warning) => {
    const body = { ...mapOf(`fields-${mode.toLowerCase()}`), nonsense: 1 };
    const answer = await ask(`${maps}?fieldValidation=${mode}`, { method: 'POST', body });
    expect([answer.code, answer.headers.warning]).toEqual([code, warning]);
  });
});

describe('a list', () => {
  const bulky = '/api/v1/namespaces/kube-system/configmaps';

  it('without a limit is whole, at one revision, though it has more than a page', async () => {
    const data = { text: 'x'.repeat(300_000) };
    for (let i = 0; i < 12; i++) await ask(bulky, { method: 'POST', body: mapOf(`bulky-${i}`, data) });
    const { json } = await ask(bulky);
    const names = json.items.map((each: { metadata: { name: string } }) => each.metadata.name);
    expect(names.filter((name: string) => name.startsWith('bulky'))).toHaveLength(12);
    expect(json).toMatchObject({ kind: 'ConfigMapList', apiVersion: 'v1', metadata: { resourceVersion: expect.any(String) } });
    expect(json.metadata.continue).toBeUndefined();
  });

  it('with a limit goes on where it says', async () => {
    const first = await ask(`${bulky}?limit=5`);
    expect(first.json.items).toHaveLength(5);
    const { continue: token } = first.json.metadata;
    const next = await ask(`${bulky}?limit=500&continue=${encodeURIComponent(token)}`);
    const all = [...first.json.items, ...next.json.items];
    expect(new Set(all.map(({ metadata }) => metadata.name)).size).toBe(all.length);
  });

  it('with a negative limit is whole, as in Kubernetes', async () => {
    const { code, json } = await ask(`${bulky}?limit=-1`);
    expect([code, json.metadata.continue]).toEqual([200, undefined]);
    expect(json.items).toHaveLength((await ask(bulky)).json.items.length);
  });

  it('is a table for those who ask for one', async () => {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
    const { json } = await ask('/api/v1/namespaces', { headers: { accept } });
    expect(json.kind).toBe('Table');
    expect(json.columnDefinitions.map(({ name }: { name: string }) => name)).toEqual(['Name', 'Status', 'Age']);
    expect(json.rows[0]).toMatchObject({ cells: ['default', 'Active', expect.stringMatching(/^\d+s$/)] });
  });

  it.each(['v1', 'v1beta1'])('is a table, or metadata alone, of the version %s that was asked for', async (version) => {
    const apiVersion = `meta.k8s.io/${version}`;
    const as = (what: string, type = 'json') => ({ accept: `application/${type};as=${what};v=${version};g=meta.k8s.io` });
    const metrics = '/apis/metrics.k8s.io/v1beta1/nodes';
    for (const path of ['/api/v1/namespaces', '/api/v1/namespaces/default', '/api/v1/componentstatuses', metrics]) {
      const { json: table } = await ask(path, { headers: as('Table') });
      expect(table).toMatchObject({ kind: 'Table', apiVersion });
      for (const { object } of table.rows) expect(object).toMatchObject({ kind: 'PartialObjectMetadata', apiVersion });
    }
    for (const path of ['/api/v1/namespaces', '/api/v1/componentstatuses']) {
      const { json: list } = await ask(path, { headers: as('PartialObjectMetadataList') });
      expect(list).toMatchObject({ kind: 'PartialObjectMetadataList', apiVersion });
      expect(list.items[0]).toMatchObject({ kind: 'PartialObjectMetadata', apiVersion });
      const one = `${path}/${list.items[0].metadata.name}`;
      const { json } = await ask(one, { headers: as('PartialObjectMetadata') });
      expect(json).toMatchObject({ kind: 'PartialObjectMetadata', apiVersion, metadata: { name: list.items[0].metadata.name } });
    }
    const { text } = await ask('/api/v1/namespaces/default', { headers: as('PartialObjectMetadata', 'vnd.kubernetes.protobuf') });
    // The envelope: the magic word, then a message with the version in bytes of their length.
    expect(text.slice(0, 60)).toContain(`${String.fromCharCode(apiVersion.length)}${apiVersion}\x12`);
  });
});

it('a watch sends each change as a line, and tells of a version that is gone', async () => {
  const { json } = await ask(maps);
  const response = await open(`${maps}?watch=1&resourceVersion=${json.metadata.resourceVersion}`);
  const lines = response[Symbol.asyncIterator]();
  await create('watched');
  const { value } = await lines.next();
  expect(JSON.parse(String(value))).toMatchObject({
    type: 'ADDED',
    object: { kind: 'ConfigMap', metadata: { name: 'watched' } },
  });
  response.destroy();
});

describe('discovery', () => {
  it.each([
    ['/api', { kind: 'APIVersions', versions: ['v1'] }],
    ['/apis/apps', { kind: 'APIGroup', name: 'apps', preferredVersion: { groupVersion: 'apps/v1', version: 'v1' } }],
    ['/version', { gitVersion: expect.stringMatching(/^v/) }],
  ])('answers %s', async (path, part) => {
    expect((await ask(path)).json).toMatchObject(part);
  });

  it('names the resources of a version with their subresources', async () => {
    const { json } = await ask('/apis/apps/v1');
    const deployments = json.resources.find(({ name }: { name: string }) => name === 'deployments');
    expect(deployments).toMatchObject({ kind: 'Deployment', namespaced: true, shortNames: ['deploy'] });
    const names = json.resources.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(['deployments/scale', 'deployments/status']));
  });

  it('has both versions of an autoscaler, each shown as it is asked for', async () => {
    const { json } = await ask('/apis/autoscaling');
    expect(json.versions.map(({ version }: { version: string }) => version)).toEqual(['v2', 'v1', 'v2beta2']);
    const { json: list } = await ask('/apis/autoscaling/v1/horizontalpodautoscalers');
    expect(list).toMatchObject({ kind: 'HorizontalPodAutoscalerList', apiVersion: 'autoscaling/v1' });
  });
});

describe('a request', () => {
  it.each([
    ['of an unknown resource', '/api/v1/chairs', {}, 404, 'NotFound'],
    ['that cannot be read', maps, { method: 'POST', body: '{' }, 400, 'BadRequest'],
    ['of a method that is not there', `${maps}/a`, { method: 'POST', body: {} }, 405, 'MethodNotAllowed'],
    ['of a part that the kind does not have', `${maps}/a/scale`, { method: 'PUT', body: {} }, 404, 'NotFound'],
    [
      'in an unknown format',
      maps,
      { method: 'POST', body: 'x', headers: { 'content-type': 'text/plain' } },
      415,
      'UnsupportedMediaType',
    ],
    ['for a form that is not made', maps, { headers: { accept: 'text/html' } }, 406, 'NotAcceptable'],
    ['of an invalid object', maps, { method: 'POST', body: mapOf('Not Good') }, 422, 'Invalid'],
    ['whose query makes no sense', `${maps}?limit=many`, {}, 400, 'BadRequest'],
    ['without credentials', maps, { anonymous: true }, 401, 'Unauthorized'],
    ['without credentials of an unknown resource', '/api/v1/chairs', { anonymous: true }, 401, 'Unauthorized'],
    ['as a user without rights', maps, { headers: { 'impersonate-user': 'bob' } }, 403, 'Forbidden'],
  ] as const)('%s is refused', async (_, path, asked, code, reason) => {
    const answer = await ask(path, asked as Asked);
    expect([answer.json.reason, answer.json.kind]).toEqual([reason, 'Status']);
    expect(answer.code).toBe(code);
  });

  it('for the health of the server needs no credentials', async () => {
    expect(await ask('/readyz', { anonymous: true })).toMatchObject({ code: 200, text: 'ok' });
  });
});

it.each([
  ['GET', '//'],
  ['GET', '//elsewhere/api'],
  ['OPTIONS', '*'],
  ['GET', 'http://elsewhere/api'],
  ['GET', '/api/v1/namespaces/%zz/pods'],
])('a request of %s %s is answered', async (method, path) => {
  expect((await ask(path, { method })).code).toBeLessThan(500);
});
