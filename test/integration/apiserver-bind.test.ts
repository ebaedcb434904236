import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { createConnection } from '../../client/connection/connection.ts';
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
const makePod = (name: string, cpu: string) => createPodAsking(server.client, name, cpu);

test('binding sets the node and the condition in one write, once', async () => {
  await makeNode('n1', '2');
  const pod = await makePod('a', '1');
  const bound = await server.client.pods.bind(pod, 'n1');
  expect(bound.spec?.nodeName).toBe('n1');
  expect(bound.status?.conditions).toMatchObject([{ type: 'PodScheduled', status: 'True' }]);
  // A binding answers what is wanted; it is no other wish.
  expect(bound.metadata?.generation).toBe(1);
  await expect(server.client.pods.bind(pod, 'n1')).rejects.toMatchObject({ code: 'ABORTED' });
});

test('a pod that is another one, is being deleted, or names no node that exists is not bound', async () => {
  const pod = await makePod('b', '1');
  await expect(server.client.pods.bind({ ...pod, uid: 'other' }, 'n1')).rejects.toMatchObject({ code: 'ABORTED' });
  await expect(server.client.pods.bind(pod, 'nowhere')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await server.client.pods.patch(pod, { metadata: { finalizers: ['example.com/keep'] } });
  await server.client.pods.delete(pod);
  await expect(server.client.pods.bind(pod, 'n1')).rejects.toMatchObject({ code: 'ABORTED' });
});

test('a dry run of a binding answers as if, checks everything, and takes no room', async () => {
  await makeNode('dry', '1');
  const [pod, other] = [await makePod('dry-a', '1'), await makePod('dry-b', '2')];
  const connection = createConnection(server.admin);
  const method = {
    path: '/berth.core.v1.Pods/Bind',
    request: 'berth.core.v1.BindingWriteRequest',
    response: 'berth.core.v1.Pod',
  };
  const tryBind = (metadata: object, name: string) =>
    connection.unary<Pod>(method, { object: { metadata, target: { kind: 'Node', name } }, options: { dryRun: ['All'] } });
  try {
    const before = await server.client.pods.get(pod);
    for (const _ of [1, 2]) expect((await tryBind(pod, 'dry')).spec?.nodeName).toBe('dry');
    expect(await server.client.pods.get(pod)).toEqual(before);
    await expect(tryBind(other, 'dry')).rejects.toMatchObject({ code: 'ABORTED' });
    await expect(tryBind(pod, 'nowhere')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect((await server.client.pods.bind(pod, 'dry')).spec?.nodeName).toBe('dry');
  } finally {
    connection.close();
  }
});

test('concurrent binders cannot over-commit a node together', async () => {
  await makeNode('n2', '3');
  const pods = await Promise.all(Array.from({ length: 10 }, (_, i) => makePod(`c${i}`, '1')));
  const results = await Promise.allSettled(pods.map((pod) => server.client.pods.bind(pod, 'n2')));
  expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(3);
  for (const result of results) if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'ABORTED' });
  const page = await server.client.pods.list({ namespace: 'default', fieldSelector: 'spec.nodeName=n2' });
  expect(page.items).toHaveLength(3);
});

test('a finished pod gives its share back', async () => {
  await makeNode('n3', '1');
  const first = await makePod('d1', '1');
  const second = await makePod('d2', '1');
  const bound = await server.client.pods.bind(first, 'n3');
  await expect(server.client.pods.bind(second, 'n3')).rejects.toMatchObject({ code: 'ABORTED' });
  await server.client.pods.updateStatus({ ...bound, status: { ...bound.status, phase: 'Succeeded' } });
  await server.client.pods.get(first);
  expect((await server.client.pods.bind(second, 'n3')).spec?.nodeName).toBe('n3');
});

test('a finished pod is not bound, and its node has room for others', async () => {
  await makeNode('n4', '1');
  const [first, second] = [await makePod('e1', '1'), await makePod('e2', '1')];
  const pod = await server.client.pods.get(first);
  await server.client.pods.updateStatus({ ...pod, status: { ...pod.status, phase: 'Failed' } });
  await expect(server.client.pods.bind(first, 'n4')).rejects.toMatchObject({ code: 'ABORTED' });
  await server.client.pods.delete(first);
  expect((await server.client.pods.bind(second, 'n4')).spec?.nodeName).toBe('n4');
});

test('a status with an amount that is none is refused, and the node goes on being patched and bound to', async () => {
  await makeNode('n5', '1');
  const node = await server.client.nodes.get({ name: 'n5' });
  const allocatable = { ...node.status?.allocatable, cpu: { string: 'abc' } };
  await expect(server.client.nodes.updateStatus({ ...node, status: { allocatable } })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    violations: [{ field: 'status.allocatable[cpu]' }],
  });
  const at = await makePod('f1', '1');
  const pod = await server.client.pods.get(at);
  const containerStatuses = [{ name: 'main', resources: { requests: { cpu: { string: '1x' } } } }];
  await expect(server.client.pods.updateStatus({ ...pod, status: { containerStatuses } })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    violations: [{ field: 'status.containerStatuses[0].resources.requests[cpu]' }],
  });
  await server.client.nodes.patch({ name: 'n5' }, { metadata: { labels: { a: 'b' } } });
  expect((await server.client.pods.bind(at, 'n5')).spec?.nodeName).toBe('n5');
});
