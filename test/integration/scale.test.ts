import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
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
const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'main', image: 'x' }] } };

/** Makes an object that wants two pods. */
async function make(kind: string, name: string): Promise<JsonObject> {
  const selector: JsonObject = kind === 'ReplicationController' ? { app: 'web' } : { matchLabels: { app: 'web' } };
  return server.client.objects.create(kind, { metadata: at(name), spec: { replicas: 2, selector, template } });
}

const replicasOf = async (name: string) => (await server.client.deployments.get(at(name))).spec?.replicas;

describe.each([
  ['Deployment', 'deployments'],
  ['ReplicaSet', 'replicaSets'],
  ['StatefulSet', 'statefulSets'],
  ['ReplicationController', 'replicationControllers'],
] as const)('the Scale of a %s', (kind, property) => {
  it('is read, updated and patched through the typed service', async () => {
    const client = server.client[property];
    const name = kind.toLowerCase();
    const made = await make(kind, name);
    await client.patch({ ...at(name), subresource: 'status' }, { status: { replicas: 1 } });
    const scale = await client.scale(at(name));
    expect(scale).toEqual({
      metadata: {
        ...at(name),
        uid: (made.metadata as JsonObject).uid,
        resourceVersion: expect.stringMatching(/^\d+$/),
        creationTimestamp: { seconds: expect.any(Number) },
      },
      spec: { replicas: 2 },
      status: { replicas: 1, selector: 'app=web' },
    });
    const updated = await client.updateScale({ ...scale, spec: { replicas: 5 } });
    expect(updated).toMatchObject({ spec: { replicas: 5 }, status: { replicas: 1 } });
    const patched = await client.patchScale(at(name), { spec: { replicas: 0 } });
    expect(patched.spec).toEqual({ replicas: 0 });
    const operations = [{ op: 'replace', path: '/spec/replicas', value: 3 }];
    expect((await client.patchScale({ ...at(name), type: 'json' }, operations)).spec).toEqual({ replicas: 3 });
    const object = await client.get(at(name));
    expect(object.spec?.replicas).toBe(3);
    expect(object.metadata).toMatchObject({ generation: 4, resourceVersion: expect.stringMatching(/^\d+$/) });
    expect(object.metadata?.managedFields?.map(({ subresource }) => subresource ?? '')).toContain('scale');
  });
});

test('the generic service reads and writes a Scale, as JSON and as a table', async () => {
  const { objects } = server.client;
  await make('Deployment', 'generic');
  const scale = await objects.get('Deployment', { ...at('generic'), subresource: 'scale' });
  expect(scale).toMatchObject({
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    spec: { replicas: 2 },
    status: { replicas: 0, selector: 'app=web' },
  });
  const updated = await objects.update('Deployment', { ...scale, spec: { replicas: 4 } }, { subresource: 'scale' });
  expect(updated).toMatchObject({ kind: 'Scale', spec: { replicas: 4 } });
  const patched = await objects.patch('Deployment', { ...at('generic'), subresource: 'scale' }, { spec: { replicas: 6 } });
  expect(patched).toMatchObject({ kind: 'Scale', spec: { replicas: 6 } });
  expect(await replicasOf('generic')).toBe(6);
  const table = await objects.getTable('Deployment', { ...at('generic'), subresource: 'scale' });
  expect([table.columns?.map(({ name }) => name), table.rows?.[0]?.cells?.slice(0, 3)]).toEqual([
    ['NAME', 'DESIRED', 'AVAILABLE', 'AGE'],
    ['generic', '6', '0'],
  ]);
  const results = objects.bulk([
    { verb: 'patch', kind: 'Deployment', target: { ...at('generic'), subresource: 'scale' }, patch: { spec: { replicas: 1 } } },
  ]);
  for await (const result of results) expect(result).toMatchObject({ object: { kind: 'Scale', spec: { replicas: 1 } } });
});

describe('a write of a Scale', () => {
  it('with a version holds only for that version, and without one for any', async () => {
    const { deployments } = server.client;
    await make('Deployment', 'locked');
    const old = await deployments.scale(at('locked'));
    await deployments.updateScale({ metadata: at('locked'), spec: { replicas: 3 } });
    const late = { code: 'ABORTED' };
    await expect(deployments.updateScale({ ...old, spec: { replicas: 9 } })).rejects.toMatchObject(late);
    await expect(
      deployments.updateScale({ metadata: { ...at('locked'), uid: 'other' }, spec: { replicas: 9 } }),
    ).rejects.toMatchObject(late);
    const patch = { metadata: { resourceVersion: old.metadata?.resourceVersion }, spec: { replicas: 9 } };
    await expect(deployments.patchScale(at('locked'), patch)).rejects.toMatchObject(late);
    const operations = [
      { op: 'test', path: '/spec/replicas', value: 2 },
      { op: 'replace', path: '/spec/replicas', value: 9 },
    ];
    await expect(deployments.patchScale({ ...at('locked'), type: 'json' }, operations)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    expect(await replicasOf('locked')).toBe(3);
  });

  it('as a dry run changes nothing', async () => {
    await make('Deployment', 'dry');
    const scale = { metadata: at('dry'), spec: { replicas: 7 } };
    expect((await server.client.deployments.updateScale(scale, { dryRun: ['All'] })).spec).toEqual({ replicas: 7 });
    expect(await replicasOf('dry')).toBe(2);
  });

  it('changes nothing but the number, and means 0 when it says none', async () => {
    const { deployments } = server.client;
    await make('Deployment', 'others');
    const before = await deployments.get(at('others'));
    await deployments.updateScale({ metadata: { ...at('others'), labels: { a: 'b' } }, spec: {}, status: { replicas: 8 } });
    const { spec, metadata, status } = await deployments.get(at('others'));
    expect([spec, metadata?.labels, status]).toEqual([{ ...before.spec, replicas: 0 }, undefined, undefined]);
  });

  it.each<[string, () => Promise<unknown>, object]>([
    [
      'a negative number',
      () => server.client.deployments.updateScale({ metadata: at('wrong'), spec: { replicas: -1 } }),
      { code: 'INVALID_ARGUMENT', violations: [{ field: 'spec.replicas' }] },
    ],
    [
      'a field that it does not have',
      () => server.client.deployments.patchScale(at('wrong'), { spec: { replica: 1 } }),
      { code: 'INVALID_ARGUMENT', violations: [{ field: 'spec.replica' }] },
    ],
    [
      'an object that is not there',
      () => server.client.deployments.updateScale({ metadata: at('nowhere'), spec: { replicas: 1 } }),
      { code: 'NOT_FOUND' },
    ],
    [
      'another name in the patch',
      () => server.client.deployments.patchScale(at('wrong'), { metadata: { name: 'other' } }),
      { code: 'INVALID_ARGUMENT', violations: [{ field: 'metadata.name' }] },
    ],
    [
      'a kind that cannot be scaled',
      () => server.client.objects.get('DaemonSet', { ...at('wrong'), subresource: 'scale' }),
      { code: 'INVALID_ARGUMENT', message: expect.stringContaining('daemonsets have no subresource "scale"') },
    ],
    [
      'a part that is not read by itself',
      () => server.client.objects.get('Deployment', { ...at('wrong'), subresource: 'status' }),
      { code: 'INVALID_ARGUMENT', message: expect.stringContaining('only "scale" is read by itself') },
    ],
    [
      'the method for objects',
      () => server.client.deployments.patch({ ...at('wrong'), subresource: 'scale' }, { spec: { replicas: 1 } }),
      { code: 'INVALID_ARGUMENT', message: expect.stringContaining('use PatchScale') },
    ],
    [
      'a subresource that is none',
      () => server.client.objects.patch('Deployment', { ...at('wrong'), subresource: 'size' }, {}),
      { code: 'INVALID_ARGUMENT', message: expect.stringContaining('use "status", "scale" or none') },
    ],
  ])('is refused with %s', async (_title, call, error) => {
    await server.client.objects.delete('Deployment', at('wrong')).catch(() => {});
    await make('Deployment', 'wrong');
    await expect(call()).rejects.toMatchObject(error);
  });
});
