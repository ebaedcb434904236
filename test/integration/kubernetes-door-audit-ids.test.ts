import { readFile } from 'node:fs/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { auditPath, openAudit } from '../../apiserver/main.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { asks } from './kubernetes-asks.ts';

// What answers of the HTTP door say beside their bodies: the id of the call, and that a kind is deprecated.
let server: RunningServer;
let close: () => Promise<void>;
const ask = asks(() => server);

const maps = '/api/v1/namespaces/default/configmaps';

beforeAll(async () => {
  const first = await startServer();
  await first.stop();
  const { dataDir } = first;
  const opened = await openAudit({ dataDir, policyFile: undefined, log: pino({ level: 'silent' }) });
  close = opened.close;
  server = await startServer({ dataDir, audit: opened.audit, kubernetesListen: '127.0.0.1:0' });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

it('an answer has the id of its line in the audit log, whatever it is', async () => {
  const made = await ask(maps, { method: 'POST', body: { metadata: { name: 'a' } } });
  const twice = await ask(maps, { method: 'POST', body: { metadata: { name: 'a' } } });
  const others = await Promise.all([
    ask(`${maps}/a`),
    ask(maps),
    ask(`${maps}?watch=1&timeoutSeconds=1`),
    ask('/apis'),
    ask('/api/v1/nothing'),
    ask(maps, { method: 'DELETE' }),
  ]);
  const ids = [made, twice, ...others].map(({ headers }) => headers['audit-id']);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f-]{36}$/);
  expect(new Set(ids).size).toBe(ids.length);
  await close();
  const lines = (await readFile(auditPath(server.dataDir), 'utf8')).split('\n').filter(Boolean);
  const logged = lines
    .map((line) => JSON.parse(line))
    .filter(({ resource, verb }) => resource === 'configmaps' && verb === 'create');
  expect(logged.map(({ requestId, code }) => [requestId, code])).toEqual([
    [ids[0], 'OK'],
    [ids[1], 'ALREADY_EXISTS'],
  ]);
});

it('an answer of a deprecated kind says so, and one of another does not', async () => {
  const endpoints = '/api/v1/namespaces/default/endpoints';
  const text = '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"';
  const made = await ask(endpoints, { method: 'POST', body: { metadata: { name: 'a' } } });
  const answers = [made, await ask(endpoints), await ask(`${endpoints}/a`), await ask(`${endpoints}/none`)];
  expect(answers.map(({ code, headers }) => [code, headers.warning])).toEqual([
    [201, text],
    [200, text],
    [200, text],
    [404, text],
  ]);
  expect((await ask(maps)).headers.warning).toBeUndefined();
});

it('an answer of a deprecated version of a custom kind says so, whatever is asked of it', async () => {
  const schema = { openAPIV3Schema: { type: 'object' } };
  const names = { plural: 'toys', singular: 'toy', kind: 'Toy' };
  const versions = [
    { name: 'v1', served: true, storage: true, schema },
    { name: 'v1beta1', served: true, storage: false, deprecated: true, schema },
    { name: 'v1alpha1', served: true, storage: false, deprecated: true, deprecationWarning: 'use v1', schema },
  ];
  await ask('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    method: 'POST',
    body: { metadata: { name: 'toys.example.com' }, spec: { group: 'example.com', scope: 'Namespaced', names, versions } },
  });
  const told = async (version: string) => {
    const toys = `/apis/example.com/${version}/namespaces/default/toys`;
    await expect.poll(async () => (await ask(toys)).code).toBe(200);
    const body = { apiVersion: `example.com/${version}`, kind: 'Toy', metadata: { name: 'a' } };
    const headers = { 'content-type': 'application/merge-patch+json' };
    const answers = [
      await ask(toys, { method: 'POST', body }),
      await ask(`${toys}/a`),
      await ask(toys),
      await ask(`${toys}/a`, { method: 'PATCH', body: { metadata: { labels: { a: 'b' } } }, headers }),
      await ask(`${toys}/a`, { method: 'DELETE' }),
    ];
    return answers.map(({ code, headers }) => [code, headers.warning]);
  };
  const codes = [201, 200, 200, 200, 200];
  expect(await told('v1')).toEqual(codes.map((code) => [code, undefined]));
  expect(await told('v1beta1')).toEqual(codes.map((code) => [code, '299 - "example.com/v1beta1 Toy is deprecated"']));
  expect(await told('v1alpha1')).toEqual(codes.map((code) => [code, '299 - "use v1"']));
});

it('the columns of a table say what they show', async () => {
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  const { json } = await ask(maps, { headers: { accept } });
  const [name, data, age] = json.columnDefinitions;
  expect([name.format, name.description, data.description, age.description]).toEqual([
    'name',
    "The object's name, once in its namespace and kind; never changes.",
    'How many entries the object holds.',
    'When the object was made.',
  ]);
});
