import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { asks } from './kubernetes-asks.ts';

// The parts of the control plane as Kubernetes' clients read them: `kubectl get componentstatuses`.
const path = '/api/v1/componentstatuses';
const patience = { timeout: 20_000 };
let server: RunningServer;
beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});
const ask = asks(() => server);
const healthOf = async (name: string) => (await ask(`${path}/${name}`)).json.conditions[0];

test('they are listed by name, with a warning that the kind is deprecated', async () => {
  const { code, json, headers } = await ask(path);
  expect([code, json.kind, json.apiVersion]).toEqual([200, 'ComponentStatusList', 'v1']);
  expect(json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toEqual([
    ...['controller-manager', 'etcd-0', 'scheduler'],
  ]);
  expect(json.items[1].conditions).toEqual([{ type: 'Healthy', status: 'True', message: 'ok' }]);
  expect(headers.warning).toBe('299 - "v1 ComponentStatus is deprecated in v1.19+"');
  expect((await ask(`${path}?fieldSelector=metadata.name=scheduler`)).json.items).toHaveLength(1);
  expect((await ask(`${path}?labelSelector=a=b`)).json.items).toEqual([]);
});

test('the scheduler is healthy while it is connected', async () => {
  expect(await healthOf('scheduler')).toMatchObject({ status: 'False', error: expect.stringContaining('is connected') });
  const stop = new AbortController();
  const serving = server.client.placements
    .serve('default-scheduler', async () => ({ placements: {} }), { signal: stop.signal })
    .catch(() => {});
  await expect.poll(() => healthOf('scheduler'), patience).toEqual({ type: 'Healthy', status: 'True', message: 'ok' });
  stop.abort();
  await serving;
  await expect.poll(async () => (await healthOf('scheduler')).status, patience).toBe('False');
});

test('the controllers are healthy while their Lease is renewed', async () => {
  expect(await healthOf('controller-manager')).toMatchObject({ status: 'False', error: 'no process runs the controllers' });
  const metadata = { namespace: 'kube-system', name: 'berth-controllers' };
  const now = { seconds: Math.floor(Date.now() / 1000), nanos: 0 };
  await server.client.leases.create({ metadata, spec: { holderIdentity: 'h1', leaseDurationSeconds: 3600, renewTime: now } });
  expect(await healthOf('controller-manager')).toMatchObject({ status: 'True' });
});

test('a table shows health, message and error', async () => {
  const table = (await ask(path, { headers: { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' } })).json;
  expect(table.columnDefinitions.map(({ name }: { name: string }) => name)).toEqual(['Name', 'Status', 'Message', 'Error']);
  expect(table.rows.map(({ cells }: { cells: string[] }) => cells)).toContainEqual(['etcd-0', 'Healthy', 'ok', '']);
  expect(table.rows[0].object).toMatchObject({ kind: 'PartialObjectMetadata', metadata: { name: 'controller-manager' } });
});

test('discovery tells of them, with their short name', async () => {
  const { resources } = (await ask('/api/v1')).json;
  expect(resources).toContainEqual({
    ...{ name: 'componentstatuses', singularName: 'componentstatus', kind: 'ComponentStatus', namespaced: false },
    ...{ verbs: ['get', 'list'], shortNames: ['cs'] },
  });
});

test.each([
  ['GET', `${path}/none`, 404],
  ['POST', path, 405],
  ['DELETE', `${path}/etcd-0`, 405],
  ['GET', `${path}?watch=true`, 405],
  ['GET', '/api/v1/watch/componentstatuses', 405],
  ['GET', '/api/v1/namespaces/default/componentstatuses', 404],
  ['GET', `${path}/etcd-0/status`, 405],
])('%s %s is refused with %i', async (method, where, code) => {
  const answer = await ask(where, { method });
  expect([answer.code, answer.json.kind]).toEqual([code, 'Status']);
});
