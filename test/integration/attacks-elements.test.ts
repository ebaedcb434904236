import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Pod, PodSpec } from '../../api/generated/types.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

// Objects of few bytes that take many times as many in memory.

let server: RunningServer;
beforeAll(async () => {
  server = await startServer({ namespaceLimits: { bytes: 20_000_000 } });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

const at = (name: string) => ({ namespace: 'default', name });
const entries = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, '']));
/** `count`: what the message begins to say of how many there are. */
const refused = (count: number) => ({
  code: 'INVALID_ARGUMENT',
  message: expect.stringContaining(`at most 10000 messages, map entries and list items together, and has ${count}`),
});
const pod = (name: string, more: Partial<PodSpec> = {}): Pod => ({
  metadata: at(name),
  spec: { nodeName: 'n1', containers: [{ name: 'main', image: 'x' }], ...more },
});
const apart = (count: number) => ({
  affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: Array(count).fill({ topologyKey: 'a' }) } },
});

test('an object of 10,001 elements is refused in either form, whole or as what a patch makes of another', async () => {
  const { configMaps, objects } = server.client;
  await expect(configMaps.create({ metadata: at('a'), data: entries(10_000) })).rejects.toMatchObject(refused(10_001));
  const json = { apiVersion: 'v1', kind: 'ConfigMap', metadata: at('a'), data: entries(10_000) };
  const create = (object: object) => objects.create('ConfigMap', object as never);
  await expect(create(json)).rejects.toMatchObject(refused(10_001));
  const made = await configMaps.create({ metadata: at('a'), data: entries(9_990) });
  expect(Object.keys(made.data ?? {})).toHaveLength(9_990);
  await expect(configMaps.patch(at('a'), { data: entries(10_100) })).rejects.toMatchObject(refused(101));
  await expect(configMaps.update({ ...made, data: entries(10_100) })).rejects.toMatchObject(refused(101));
});

test('a status is bounded with the rest of its object', async () => {
  const { pods } = server.client;
  await server.client.serviceAccounts.create({ metadata: at('default') }).catch(() => {});
  await pods.create(pod('web'));
  const status = { podIPs: Array.from({ length: 10_000 }, () => ({})) };
  await expect(pods.patch({ ...at('web'), subresource: 'status' }, { status })).rejects.toMatchObject(refused(100));
});

test('pods of thousands of small parts fill the namespace by what they take in memory, at a tenth of its bytes', async () => {
  const { pods } = server.client;
  await expect(pods.create(pod('vast', apart(10_000)))).rejects.toMatchObject(refused(100));
  const gates = (count: number) => ({ schedulingGates: Array.from({ length: count }, (_, i) => ({ name: `g${i}` })) });
  const gated = (name: string): Pod => {
    const { metadata, spec: { nodeName: _, ...spec } = {} } = pod(name, gates(5_000));
    return { metadata, spec };
  };
  const made = await Promise.allSettled(Array.from({ length: 30 }, (_, i) => pods.create(gated(`big-${i}`))));
  const failed = made.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
  expect(failed.length).toBeGreaterThan(14);
  for (const error of failed)
    expect(error).toMatchObject({ code: 'PERMISSION_DENIED', message: expect.stringContaining('namespace "default" holds') });
});

test('a pod whose placement would stop the scheduler, and the server with it, is refused', async () => {
  const { pods, placements } = server.client;
  const tooMany = { code: 'INVALID_ARGUMENT', message: expect.stringContaining('terms of podAffinity and podAntiAffinity') };
  await expect(pods.create(pod('apart', apart(129)))).rejects.toMatchObject(tooMany);
  const keys = Array.from({ length: 3_000 }, (_, i) => ({
    maxSkew: 1,
    topologyKey: `k${i}`,
    whenUnsatisfiable: 'ScheduleAnyway',
  }));
  const spread = pod('spread', { topologySpreadConstraints: keys });
  const tooWide = { code: 'INVALID_ARGUMENT', message: expect.stringContaining('topologySpreadConstraints: too many') };
  await expect(pods.create(spread)).rejects.toMatchObject(tooWide);
  await expect(placements.simulate({ pods: [spread] })).rejects.toMatchObject(tooWide);
});
