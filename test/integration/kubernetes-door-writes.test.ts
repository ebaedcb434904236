import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { asks } from './kubernetes-asks.ts';

// What the server makes of what it is sent, as Kubernetes makes it.
let server: RunningServer;
const ask = asks(() => server);

const post = (path: string, body: object) => ask(path, { method: 'POST', body });
const put = (path: string, body: object) => ask(path, { method: 'PUT', body });
const patch = (path: string, type: string, body: object) =>
  ask(path, { method: 'PATCH', body, headers: { 'content-type': `application/${type}` } });

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

describe('quantities', () => {
  const pods = '/api/v1/namespaces/default/pods';
  const podOf = (name: string, limits: object) => ({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
    spec: {
      containers: [{ name: 'a', image: 'x', resources: { limits } }],
      volumes: [{ name: 'v', emptyDir: { sizeLimit: '2048Ki' } }],
    },
  });

  it('are stored in the one text of their amount, defaults that are made of them as well', async () => {
    const made = await post(pods, podOf('amounts', { cpu: 0.5, memory: '1024Mi' }));
    expect(made.json.spec.containers[0].resources).toEqual({
      limits: { cpu: '500m', memory: '1Gi' },
      requests: { cpu: '500m', memory: '1Gi' },
    });
    expect(made.json.spec.volumes[0].emptyDir.sizeLimit).toBe('2Mi');
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'q' }, spec: { hard: { 'limits.cpu': '5000m' } } };
    expect((await post('/api/v1/namespaces/default/resourcequotas', quota)).json.spec.hard).toEqual({ 'limits.cpu': '5' });
    const limits = [{ type: 'Container', max: { memory: '2048Mi' } }];
    const range = { apiVersion: 'v1', kind: 'LimitRange', metadata: { name: 'r' }, spec: { limits } };
    expect((await post('/api/v1/namespaces/default/limitranges', range)).json.spec.limits[0].max).toEqual({ memory: '2Gi' });
  });

  it('that say the same change nothing: by an update, a patch of each type, and gRPC', async () => {
    const path = `${pods}/same`;
    const made = await post(pods, podOf('same', { cpu: '500m' }));
    const version = made.json.metadata.resourceVersion;
    const containers = [{ name: 'a', image: 'x', resources: { limits: { cpu: '0.5' } } }];
    const rewritten = JSON.parse(made.text.replaceAll('"500m"', '"0.5"'));
    expect((await put(path, rewritten)).json.metadata.resourceVersion).toBe(version);
    const merged = await patch(path, 'strategic-merge-patch+json', { spec: { containers } });
    expect(merged.json.metadata.resourceVersion).toBe(version);
    const operation = { op: 'replace', path: '/spec/containers/0/resources/limits/cpu', value: '0.50' };
    expect((await patch(path, 'json-patch+json', [operation])).json.metadata.resourceVersion).toBe(version);
    const pod = await server.client.pods.get({ namespace: 'default', name: 'same' });
    const { limits, requests } = pod.spec!.containers![0]!.resources!;
    limits!.cpu = { string: '0.5' };
    requests!.cpu = { string: '0.500' };
    expect((await server.client.pods.update(pod)).metadata?.resourceVersion).toBe(version);
  });

  it('are compared by an apply in the form in which they are stored', async () => {
    const path = `${pods}/applied?fieldManager=m`;
    const applied = await patch(path, 'apply-patch+yaml', podOf('applied', { cpu: '0.5', memory: '1024Mi' }));
    expect(applied.code).toBe(201);
    expect(applied.json.spec.containers[0].resources.limits).toEqual({ cpu: '500m', memory: '1Gi' });
    const again = await patch(path, 'apply-patch+yaml', podOf('applied', { cpu: '0.5', memory: '1024Mi' }));
    expect(again.json).toEqual(applied.json);
    const other = await patch(`${pods}/applied?fieldManager=other`, 'apply-patch+yaml', podOf('applied', { cpu: '500m' }));
    expect(other.code).toBe(200);
  });
});
