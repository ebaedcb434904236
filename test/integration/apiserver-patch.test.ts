import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Client, connect } from '../../client/index.ts';
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

test('a strategic merge patch changes one container of several, and its result is validated', async () => {
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

test('a strategic merge patch of the status merges conditions by type and leaves the spec alone', async () => {
  await makePod('strategic-status');
  const target = { ...at('strategic-status'), type: 'strategic', subresource: 'status' } as const;
  await server.client.pods.patch(target, { status: { conditions: [{ type: 'A', status: 'True' }] } });
  const patch = { spec: { activeDeadlineSeconds: 5 }, status: { conditions: [{ type: 'B', status: 'False' }] } };
  const after = await server.client.pods.patch(target, patch);
  expect(after.status?.conditions?.map(({ type, status }) => [type, status])).toEqual([
    ['B', 'False'],
    ['A', 'True'],
  ]);
  expect(after.spec?.activeDeadlineSeconds).toBeUndefined();
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

/** The conditions that are left of A and B when a client patches the status of a node with one more. */
async function conditionsAfter(name: string, client: Client, type: 'merge' | 'strategic', conditions: object[] | null) {
  await server.client.nodes.create({ metadata: { name } });
  const target = { name, subresource: 'status' } as const;
  const before = [
    { type: 'A', status: 'True', reason: 'Before' },
    { type: 'B', status: 'True' },
  ];
  await server.client.nodes.patch(target, { status: { conditions: before } });
  const { status } = await client.nodes.patch({ ...target, type }, { status: { conditions } });
  return (status?.conditions ?? []).map((each) => `${each.type}=${each.status}${each.reason ? ` ${each.reason}` : ''}`);
}

test('a merge patch of the status replaces its conditions, and a strategic one merges them by type', async () => {
  const changed = [{ type: 'A', status: 'False' }];
  expect(await conditionsAfter('replaced', server.client, 'merge', changed)).toEqual(['A=False']);
  expect(await conditionsAfter('removed', server.client, 'merge', null)).toEqual([]);
  expect(await conditionsAfter('merged', server.client, 'strategic', changed)).toEqual(['A=False Before', 'B=True']);
});

test.each([
  ['berth-agent/n1', ['A=False Before', 'B=True']],
  ['berth-agent/n1 berth/0.2.0', ['A=False']],
  ['berth-controllers', ['A=False Before', 'B=True']],
  ['berth-controllers berth/0.2.0', ['A=False']],
  ['berth-controllers-of-mine', ['A=False']],
  ['berth-cli', ['A=False']],
])('a merge patch of the status by %s leaves the conditions %j', async (userAgent, left) => {
  const client = connect({ ...server.admin, userAgent });
  const name = userAgent.replace(/[ /]/g, '-');
  const changed = [{ type: 'A', status: 'False' }];
  expect(await conditionsAfter(name, client, 'merge', changed)).toEqual(left);
  client.close();
});

test.each(['merge', 'strategic', 'json'] as const)('a %s patch of the status takes metadata too, and no spec', async (type) => {
  const name = `metadata-${type}`;
  await makePod(name);
  const merge = {
    metadata: { labels: { a: 'b' }, finalizers: ['example.com/a'] },
    spec: { activeDeadlineSeconds: 5 },
    status: { phase: 'Running' },
  };
  const operations = Object.entries(merge).flatMap(([part, fields]) =>
    Object.entries(fields).map(([field, value]) => ({ op: 'add', path: `/${part}/${field}`, value })),
  );
  const target = { ...at(name), type, subresource: 'status' } as const;
  const { metadata, spec, status } = await server.client.pods.patch(target, type === 'json' ? operations : merge);
  expect([metadata?.labels, metadata?.finalizers, status?.phase]).toEqual([{ a: 'b' }, ['example.com/a'], 'Running']);
  expect(spec?.activeDeadlineSeconds).toBeUndefined();
});

test('a JSON patch that names a resourceVersion writes only over that version, in each of its operations and subresources', async () => {
  await makePod('locked');
  const target = { ...at('locked'), type: 'json' } as const;
  const label = (value: string) => ({ op: 'add', path: '/metadata/labels', value: { by: value } });
  const version = (op: string, value?: string) => ({ op, path: '/metadata/resourceVersion', ...(value && { value }) });
  const versionNow = async () => (await server.client.pods.get(at('locked'))).metadata?.resourceVersion ?? '';
  const old = await versionNow();
  for (const op of ['test', 'add', 'replace']) {
    const now = await versionNow();
    const after = await server.client.pods.patch(target, [version(op, now), label(op)]);
    expect(after.metadata?.labels).toEqual({ by: op });
    const refused = (subresource: string, operations: object[]) =>
      expect(server.client.pods.patch({ ...target, subresource }, operations)).rejects.toMatchObject({
        code: op === 'test' ? 'INVALID_ARGUMENT' : 'ABORTED',
      });
    await refused('', [version(op, old), label('late')]);
    await refused('', [version(op, now), label('late')]);
    await refused('status', [version(op, old), { op: 'add', path: '/status/message', value: 'late' }]);
  }
  expect((await server.client.pods.patch(target, [version('remove'), label('any')])).metadata?.labels).toEqual({ by: 'any' });
  expect((await server.client.pods.get(at('locked'))).status?.message).toBeUndefined();
});

test('150 patches of one object at once all succeed', async () => {
  await makePod('hot');
  const patches = Array.from({ length: 150 }, (_, i) =>
    server.client.pods.patch(at('hot'), { metadata: { annotations: { [`a${i}`]: 'x' } } }),
  );
  await Promise.all(patches);
  const { annotations } = (await server.client.pods.get(at('hot'))).metadata ?? {};
  expect(Object.keys(annotations ?? {})).toHaveLength(150);
});

test('a patch of the status clears managed fields, and a JSON patch of it tests the spec', async () => {
  await makePod('seen');
  const target = { ...at('seen'), subresource: 'status' } as const;
  const managers = ({ metadata }: { metadata?: { managedFields?: readonly unknown[] } }) => metadata?.managedFields?.length ?? 0;
  const status = { conditions: [{ type: 'A', status: 'True' }] };
  const patched = await server.client.pods.patch({ ...target, type: 'strategic' }, { metadata: { labels: { a: 'b' } }, status });
  expect(managers(patched)).toBe(2);
  const again = await server.client.pods.patch(target, { metadata: { managedFields: [{}] } });
  expect([again.metadata?.labels, again.spec, again.status]).toEqual([{ a: 'b' }, patched.spec, patched.status]);
  expect(managers(again)).toBeLessThan(2);
  const ofSpec = (value: string) => [
    { op: 'test', path: '/spec/containers/0/image', value },
    { op: 'add', path: '/status/message', value: 'seen' },
  ];
  const json = { ...target, type: 'json' } as const;
  await expect(server.client.pods.patch(json, ofSpec('two'))).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  expect((await server.client.pods.patch(json, ofSpec('one'))).status?.message).toBe('seen');
});
