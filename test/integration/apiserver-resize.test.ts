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
const quantities = (cpu: string, memory: string) => ({ cpu: { string: cpu }, memory: { string: memory } });

async function makePod(name: string): Promise<void> {
  await server.client.objects.create('Pod', {
    metadata: at(name),
    spec: {
      containers: [
        { name: 'a', image: 'one', resources: { requests: { cpu: '100m', memory: '64Mi' } } },
        { name: 'b', image: 'one' },
      ],
    },
  });
}

test('a pod is resized through the typed method, the generic one and a patch, and its generation says so', async () => {
  await makePod('sized');
  const { pods, objects } = server.client;
  const first = await pods.get(at('sized'));
  first.spec!.containers![0]!.resources = { requests: quantities('150m', '64Mi') };
  first.spec!.containers![1]!.image = 'ignored';
  const typed = await pods.updateResize(first);
  expect(typed.spec?.containers?.map(({ image, resources }) => [image, resources?.requests?.cpu?.string])).toEqual([
    ['one', '150m'],
    ['one', undefined],
  ]);
  expect(typed.metadata?.generation).toBe(2);

  const json = await objects.get('Pod', at('sized'));
  const [container] = (json.spec as { containers: { resources: { requests: { cpu: string } } }[] }).containers;
  container!.resources.requests.cpu = '200m';
  await objects.update('Pod', json, { subresource: 'resize' });
  const target = { ...at('sized'), type: 'strategic', subresource: 'resize' } as const;
  const patched = await pods.patch(target, {
    spec: { containers: [{ name: 'a', resources: { requests: { memory: '96Mi' } } }] },
  });
  expect(patched.spec?.containers?.[0]?.resources?.requests).toEqual(quantities('200m', '96Mi'));
  expect(patched.metadata?.managedFields?.map(({ subresource }) => subresource)).toContain('resize');
  await expect(pods.updateResize(first)).rejects.toMatchObject({ code: 'ABORTED' });
});

test('a rejected resize names its field, and a kind without the subresource names those it has', async () => {
  await makePod('refused');
  const { pods, objects } = server.client;
  const target = { ...at('refused'), type: 'strategic', subresource: 'resize' } as const;
  const patch = (resources: object) => pods.patch(target, { spec: { containers: [{ name: 'a', resources }] } });
  await expect(patch({ requests: { cpu: null } })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    violations: [{ field: 'spec.containers[0].resources.requests[cpu]' }],
  });
  await expect(patch({ requests: { cpu: 'much' } })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  await expect(pods.patch({ ...target, subresource: 'scale' }, {})).rejects.toThrow(
    /pods have no subresource "scale", use "status", "resize"/,
  );
  await expect(objects.patch('ConfigMap', { ...at('m'), subresource: 'resize' }, {})).rejects.toThrow(/have no subresource/);
  // A plain update still rejects it.
  const plain = { spec: { containers: [{ name: 'a', resources: { requests: { cpu: '1' } } }] } };
  await expect(pods.patch({ ...at('refused'), type: 'strategic' }, plain)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});
