import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Pod, PodAddressSlice } from '../../api/generated/types.ts';
import { openWorkloadCli, type WorkloadCli } from './workload-cli.ts';

let world: WorkloadCli;
beforeAll(async () => {
  world = await openWorkloadCli();
});
afterAll(() => world.close());

const soon = { timeout: 10_000 };
const podSelector = {};

/** A pod of the node n1 that runs at this address. */
async function run(namespace: string, name: string, podIP: string, labels = { app: name }): Promise<Pod> {
  const { pods } = world.server.client;
  await pods.create({ metadata: { namespace, name, labels }, spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] } });
  const status = { phase: 'Running', podIP, podIPs: [{ ip: podIP }], conditions: [{ type: 'Ready', status: 'True' }] };
  return pods.patch({ namespace, name, subresource: 'status', type: 'merge' }, { status });
}

async function slices(): Promise<PodAddressSlice[]> {
  return (await world.server.client.podAddressSlices.list({})).items;
}

/** "shop/web 10.42.0.5 app=web team=a", for each pod. */
async function shown(): Promise<string[]> {
  const words = (labels: Record<string, string> = {}): string =>
    Object.entries(labels)
      .map((pair) => pair.join('='))
      .join();
  const lines = (await slices()).flatMap(({ metadata, namespaceLabels, pods = [] }) =>
    pods.map(({ name, podIPs, labels }) => {
      const { 'kubernetes.io/metadata.name': _, ...rest } = namespaceLabels ?? {};
      return `${metadata?.namespace}/${name} ${podIPs?.join()} ${words(labels)} ${words(rest)}`.trim();
    }),
  );
  return lines.toSorted();
}

test('addresses of pods are kept for nodes from the first policy of the cluster to the last', async () => {
  const { namespaces, networkPolicies, nodes, pods, podAddressSlices } = world.server.client;
  await nodes.create({ metadata: { name: 'n1' }, spec: {} });
  await expect.poll(async () => (await nodes.get({ name: 'n1' })).spec?.podCIDR, soon).toBe('10.42.0.0/24');
  await namespaces.create({ metadata: { name: 'shop', labels: { team: 'a' } } });
  await run('default', 'web', '10.42.0.5');
  await run('default', 'engine', '172.17.0.2');
  await run('shop', 'db', '10.42.0.6');
  expect(await slices()).toEqual([]);
  await networkPolicies.create({ metadata: { namespace: 'default', name: 'deny' }, spec: { podSelector } });
  await expect.poll(shown, soon).toEqual(['default/web 10.42.0.5 app=web', 'shop/db 10.42.0.6 app=db team=a']);

  await pods.patch({ namespace: 'shop', name: 'db', type: 'merge' }, { metadata: { labels: { app: 'other' } } });
  await namespaces.patch({ name: 'shop', type: 'merge' }, { metadata: { labels: { team: 'b' } } });
  await expect.poll(shown, soon).toEqual(['default/web 10.42.0.5 app=web', 'shop/db 10.42.0.6 app=other team=b']);

  // What another writer changes or deletes is put right.
  const [first, second] = await slices();
  const keyOf = ({ metadata }: PodAddressSlice = {}) => ({ namespace: metadata?.namespace, name: metadata?.name ?? '' });
  await podAddressSlices.patch({ ...keyOf(first), type: 'merge' }, { pods: [] });
  await podAddressSlices.delete(keyOf(second));
  await expect.poll(shown, soon).toEqual(['default/web 10.42.0.5 app=web', 'shop/db 10.42.0.6 app=other team=b']);

  await networkPolicies.delete({ namespace: 'default', name: 'deny' });
  await expect.poll(slices, soon).toEqual([]);
});

test('a namespace on its way out takes its policies and slices along', async () => {
  const { namespaces, networkPolicies } = world.server.client;
  await networkPolicies.create({ metadata: { namespace: 'shop', name: 'deny' }, spec: { podSelector } });
  await expect.poll(async () => (await shown()).length, soon).toBe(2);
  await namespaces.delete({ name: 'shop' });
  await world.server.client.pods.delete({ namespace: 'shop', name: 'db' }, { gracePeriodSeconds: 0 });
  await expect.poll(() => namespaces.get({ name: 'shop' }).catch(({ code }: { code: string }) => code), soon).toBe('NOT_FOUND');
  await expect.poll(slices, soon).toEqual([]);
});

test('a user writes a policy, is told which nodes enforce it, and sees what it selects and closes', async () => {
  const { berth, cli, server } = world;
  const manifest = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'deny', namespace: 'default' },
    spec: { podSelector: { matchLabels: { app: 'web' } } },
  };
  await server.client.services.create({
    metadata: { namespace: 'default', name: 'web' },
    spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
  });
  const file = join(cli.folder, 'policy.json');
  await writeFile(file, JSON.stringify(manifest));
  const applied = await cli.berth('apply', '-f', file);
  expect([applied.out, applied.err]).toEqual(['networkpolicy.networking.k8s.io/deny created\n', '']);
  expect((await berth('get netpol')).out).toMatch(/^NAME +POD-SELECTOR +AGE\ndeny +app=web +\d+s\n$/);
  const described = (await berth('describe netpol deny')).out;
  expect(described).toContain('<none> (Selected pods are isolated for ingress connectivity)\n  Not affecting egress traffic');
  expect(described).toMatch(/Selected Pods: +1 \(web\)\n/);
  expect((await berth('why svc/web')).out).toContain(
    'Note: 1 of 1 pods accept no connection where network policies are enforced',
  );
  expect((await berth('explain networkpolicy.spec.ingress.from.ipBlock.cidr')).out).toContain('192.168.0.0/16');
});
