import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { issueNodeCredentials } from '../../apiserver/main.ts';
import { type ApiError, connect } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { createPodAsking, createRoomyNode } from './bind-objects.ts';

let server: RunningServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

const makeNode = (name: string, cpu: string) => createRoomyNode(server.client, name, cpu);
const makePod = (name: string, cpu = '1') => createPodAsking(server.client, name, cpu);

test('bindings of one pod to two nodes at once do not over-commit either', async () => {
  await Promise.all([makeNode('tight', '1'), makeNode('wide', '4')]);
  const [contested, other] = [await makePod('contested'), await makePod('other')];
  const stream = server.client.pods.bindStream();
  await Promise.allSettled([stream.bind(contested, 'tight'), stream.bind(contested, 'wide'), stream.bind(other, 'tight')]);
  await stream.close();
  const { items } = await server.client.pods.list({ namespace: 'default', fieldSelector: 'spec.nodeName=tight' });
  expect(items.length).toBeLessThanOrEqual(1);
});

test('each binding has its own result, with the errors that Bind has', async () => {
  await makeNode('n1', '2');
  const [fits, full, twice] = [await makePod('fits', '2'), await makePod('full'), await makePod('twice', '0')];
  const stream = server.client.pods.bindStream();
  const { resourceVersion } = await stream.bind(fits, 'n1');
  const bound = await server.client.pods.get(fits);
  expect(bound.metadata?.resourceVersion).toBe(resourceVersion);
  expect(bound.spec?.nodeName).toBe('n1');
  expect(bound.status?.conditions).toMatchObject([{ type: 'PodScheduled', status: 'True' }]);
  await stream.bind(twice, 'n1');
  const cases: [{ namespace: string; name: string; uid?: string }, string][] = [
    [full, 'n1'],
    [twice, 'n1'],
    [full, 'nowhere'],
    [{ ...full, uid: 'other' }, 'n1'],
    [{ namespace: 'default', name: 'no-such-pod' }, 'n1'],
    [{ namespace: 'default', name: '' }, ''],
  ];
  const streamed = await Promise.all(cases.map(([target, node]) => stream.bind(target, node).catch((error) => error)));
  const alone = await Promise.all(cases.map(([target, node]) => server.client.pods.bind(target, node).catch((error) => error)));
  const said = (error: ApiError): object => ({ ...error, message: error.message, requestId: '' });
  expect(streamed.map(said)).toEqual(alone.map(said));
  expect(streamed.map(({ code }) => code)).toEqual([
    'ABORTED',
    'ABORTED',
    'NOT_FOUND',
    'ABORTED',
    'NOT_FOUND',
    'INVALID_ARGUMENT',
  ]);
  await stream.close();
});

test('the bindings of one message cannot over-commit a node, and hundreds go through one stream', async () => {
  await makeNode('n2', '100');
  const pods = await Promise.all(Array.from({ length: 150 }, (_, i) => makePod(`many-${i}`)));
  const stream = server.client.pods.bindStream();
  const results = await Promise.allSettled(pods.map((pod) => stream.bind(pod, 'n2')));
  await stream.close();
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(100);
  for (const result of results) if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'ABORTED' });
  const { items } = await server.client.pods.list({ namespace: 'default', fieldSelector: 'spec.nodeName=n2' });
  expect(items).toHaveLength(100);
});

test('a node may not bind pods, and hears so for each', async () => {
  const { key, certificate } = await issueNodeCredentials(server.dataDir, 'n3');
  const pod = await makePod('not-by-nodes');
  const node = connect({ ...server.admin, cert: await readFile(certificate, 'utf8'), key: await readFile(key, 'utf8') });
  const stream = node.pods.bindStream();
  const denied = { code: 'PERMISSION_DENIED', reason: 'Forbidden' };
  await expect(stream.bind(pod, 'n1')).rejects.toMatchObject(denied);
  await expect(stream.bind(pod, 'n1')).rejects.toMatchObject(denied);
  node.close();
});

test('a restart of the server fails what was under way, and the next binding opens the stream again', async () => {
  const one = await startServer({ backend: 'lmdb' });
  await one.client.nodes.create({ metadata: { name: 'n1' } });
  const spec = { containers: [{ name: 'main', image: 'x' }] };
  for (const name of ['before', 'after']) await one.client.pods.create({ metadata: { name, namespace: 'default' }, spec });
  const client = connect(one.admin);
  const stream = client.pods.bindStream();
  await stream.bind({ namespace: 'default', name: 'before' }, 'n1');
  await one.stop();
  const lost = { code: 'UNAVAILABLE' };
  await expect(stream.bind({ namespace: 'default', name: 'after' }, 'n1')).rejects.toMatchObject(lost);
  const two = await startServer({ backend: 'lmdb', dataDir: one.dataDir, listen: one.info.address });
  await expect
    .poll(() =>
      stream.bind({ namespace: 'default', name: 'after' }, 'n1').then(
        () => 'bound',
        (error) => error.code,
      ),
    )
    .toBe('bound');
  await stream.close();
  client.close();
  await two.stop();
  await two.remove();
});
