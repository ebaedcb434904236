import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningServer, startServer } from './apiserver-harness.ts';

let server: RunningServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

const at = (name: string) => ({ namespace: 'default', name });

async function makePod(name: string): Promise<void> {
  await server.client.objects.create('Pod', {
    metadata: at(name),
    spec: {
      containers: [
        { name: 'a', image: 'one' },
        { name: 'b', image: 'one' },
      ],
    },
  });
}

async function images(name: string): Promise<unknown[]> {
  const { spec } = await server.client.pods.get(at(name));
  return spec?.containers?.map((container) => [container.name, container.image]) ?? [];
}

test('a strategic merge patch changes one container of several, and is judged like any other write', async () => {
  await makePod('strategic');
  const target = { ...at('strategic'), type: 'strategic' } as const;
  await server.client.pods.patch(target, { spec: { containers: [{ name: 'b', image: 'two' }] } });
  expect(await images('strategic')).toEqual([
    ['a', 'one'],
    ['b', 'two'],
  ]);
  await expect(server.client.pods.patch(target, { spec: { containers: [{ name: 'b', imagee: 'x' }] } })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    violations: [{ field: 'spec.containers[1].imagee' }],
  });
  await expect(server.client.pods.patch(target, { metadata: { resourceVersion: '1' } })).rejects.toMatchObject({
    code: 'ABORTED',
  });
});

test('a strategic merge patch of the status merges conditions by type and touches nothing else', async () => {
  await makePod('strategic-status');
  const target = { ...at('strategic-status'), type: 'strategic', subresource: 'status' } as const;
  await server.client.pods.patch(target, { status: { conditions: [{ type: 'A', status: 'True' }] } });
  const patch = { metadata: { labels: { no: 'way' } }, status: { conditions: [{ type: 'B', status: 'False' }] } };
  const after = await server.client.pods.patch(target, patch);
  expect(after.status?.conditions?.map(({ type, status }) => [type, status])).toEqual([
    ['A', 'True'],
    ['B', 'False'],
  ]);
  expect(after.metadata?.labels).toBeUndefined();
});

test('a JSON patch is done as a whole or not at all', async () => {
  await makePod('operations');
  const target = { ...at('operations'), type: 'json' } as const;
  await server.client.pods.patch(target, [
    { op: 'test', path: '/spec/containers/0/image', value: 'one' },
    { op: 'replace', path: '/spec/containers/0/image', value: 'two' },
  ]);
  const failing = [
    { op: 'replace', path: '/spec/containers/1/image', value: 'two' },
    { op: 'test', path: '/spec/containers/0/image', value: 'one' },
  ];
  await expect(server.client.pods.patch(target, failing)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: 'cannot patch: operation 1 (test /spec/containers/0/image): the value is another',
  });
  expect(await images('operations')).toEqual([
    ['a', 'two'],
    ['b', 'one'],
  ]);
});

test('no patch gives an object another name or kind', async () => {
  await makePod('renamed');
  const rename = [{ op: 'replace', path: '/metadata/name', value: 'other' }];
  for (const [type, patch] of [
    ['merge', { metadata: { name: 'other' } }],
    ['strategic', { metadata: { name: 'other' } }],
    ['json', rename],
  ] as const) {
    await expect(server.client.pods.patch({ ...at('renamed'), type }, patch)).rejects.toMatchObject({
      violations: [{ field: 'metadata.name' }],
    });
  }
  const whole = [{ op: 'replace', path: '', value: { apiVersion: 'v1', kind: 'Pod', metadata: at('other'), spec: {} } }];
  for (const patch of [
    whole,
    [{ op: 'replace', path: '/kind', value: 'Node' }],
    [{ op: 'move', from: '/metadata/uid', path: '/metadata/name' }],
  ])
    await expect(server.client.pods.patch({ ...at('renamed'), type: 'json' }, patch)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  expect((await server.client.pods.get(at('renamed'))).metadata?.name).toBe('renamed');
  await expect(server.client.pods.get(at('other'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test.each(['merge', 'strategic'] as const)(
  'a %s patch of the status cannot take everybody`s conditions away at once',
  async (type) => {
    const name = `keeps-${type}`;
    await server.client.nodes.create({ metadata: { name } });
    const target = { name, subresource: 'status' } as const;
    const made = await server.client.nodes.patch(target, { status: { conditions: [{ type: 'A', status: 'True' }] } });
    const refused = server.client.nodes.patch({ ...target, type }, { status: { conditions: null } });
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', violations: [{ field: 'status.conditions' }] });
    expect(await server.client.nodes.patch({ ...target, type }, { status: { conditions: [] } })).toEqual(made);
    const removed = await server.client.nodes.patch({ ...target, type: 'json' }, [{ op: 'remove', path: '/status/conditions' }]);
    expect(removed.status?.conditions ?? []).toEqual([]);
  },
);
