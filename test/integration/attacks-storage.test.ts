import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Namespace } from '../../api/generated/types.ts';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { formatToken } from '../../apiserver/authn/tokens.ts';
import { issueNodeCredentials } from '../../apiserver/main.ts';
import { type Client, type ConnectOptions, connect } from '../../client/index.ts';
import { type RunningServer, readPair, startServer } from './apiserver-harness.ts';

// A user that may write in one namespace tries to fill the store.

const namespaceLimits = { bytes: 200_000, objects: 40 };
const full = {
  code: 'PERMISSION_DENIED',
  message: expect.stringMatching(/is forbidden: namespace "team" holds \d+ (bytes|objects)/),
};
let server: RunningServer;
let metrics: MetricsRegistry;
let editor: Client;
/** Of the files of a store after its first start. */
const modes = new Map<string, number>();

const as = (credentials: Partial<ConnectOptions>): Client => {
  const { address, ca } = server.info;
  return connect({ address, ca, ...credentials });
};
const configMap = (name: string, size: number, namespace = 'team') => ({
  metadata: { namespace, name },
  data: { fill: 'x'.repeat(size) },
});
const outcomes = async (calls: Promise<unknown>[]) => {
  const results = await Promise.allSettled(calls);
  const refused = results.filter((each) => each.status === 'rejected').map(({ reason }) => reason);
  return { stored: results.length - refused.length, refused };
};

/** What a metric says of a label's value; undefined when it has no line of it. */
function measured(name: string, label = 'team'): unknown {
  const found = metrics.snapshot().find(({ definition }) => definition.name === `berth_apiserver_namespace_${name}`);
  return found?.samples.find(({ labels }) => labels[0] === label)?.value;
}

async function start(dataDir?: string): Promise<void> {
  metrics = new MetricsRegistry();
  server = await startServer({ backend: 'lmdb', namespaceLimits, metrics, ...(dataDir && { dataDir }) });
  editor = as({ token: 'token-of-editor' });
}

beforeAll(async () => {
  const first = await startServer({ backend: 'lmdb' });
  await first.stop();
  const folder = join(first.dataDir, 'store');
  for (const name of await readdir(folder)) modes.set(name, (await stat(join(folder, name))).mode & 0o777);
  const file = join(first.dataDir, 'pki', 'tokens');
  await writeFile(file, (await readFile(file, 'utf8')) + formatToken('token-of-editor', { user: 'editor', groups: [] }));
  await start(first.dataDir);
  await server.client.namespaces.create({ metadata: { name: 'team' } } as Namespace);
  await server.client.roleBindings.create({
    metadata: { namespace: 'team', name: 'editor' },
    roleRef: { kind: 'ClusterRole', name: 'edit' },
    subjects: [{ kind: 'User', name: 'editor' }],
  });
});
afterAll(async () => {
  editor.close();
  await server.stop();
  await server.remove();
});

describe('a full namespace', () => {
  it('takes no more than its limit from 30 creations at once, and tells the others what it holds', async () => {
    const made = await outcomes(Array.from({ length: 30 }, (_, i) => editor.configMaps.create(configMap(`fill-${i}`, 10_000))));
    expect(made.stored).toBe(19);
    for (const error of made.refused) expect(error).toMatchObject(full);
    expect(measured('bytes')).toBeLessThanOrEqual(namespaceLimits.bytes);
    expect(measured('bytes')).toBeGreaterThan(190_000);
    expect(measured('writes_refused_total', 'bytes')).toBe(11);
  });

  it('takes no more by changes or after a restart, and refuses a trial as well', async () => {
    const growing = { namespace: 'team', name: 'fill-0' };
    await expect(editor.configMaps.update(configMap('fill-0', 30_000))).rejects.toMatchObject(full);
    await expect(editor.configMaps.patch(growing, { data: { more: 'x'.repeat(20_000) } })).rejects.toMatchObject(full);
    await expect(editor.configMaps.create(configMap('trial', 20_000), { dryRun: ['All'] })).rejects.toMatchObject(full);
    const { dataDir } = server;
    const before = measured('bytes');
    editor.close();
    await server.stop();
    await start(dataDir);
    expect(measured('bytes')).toBe(before);
    await expect(editor.configMaps.create(configMap('again', 20_000))).rejects.toMatchObject(full);
  });

  it('is no matter of other namespaces, of the system, and of what a node reports', async () => {
    await server.client.configMaps.create(configMap('free', 20_000, 'default'));
    for (let i = 0; i < 3; i++) await server.client.configMaps.create(configMap(`sys-${i}`, 90_000, 'kube-system'));
    const spec = { nodeName: 'n1', containers: [{ name: 'main', image: 'x' }] };
    await server.client.serviceAccounts.create({ metadata: { namespace: 'team', name: 'default' } }).catch(() => {});
    await server.client.pods.create({ metadata: { namespace: 'team', name: 'web' }, spec });
    await outcomes(
      [9_000, 2_000, 1_000, 500, 300, 200, 100].map((size) => editor.configMaps.create(configMap(`last-${size}`, size))),
    );
    await issueNodeCredentials(server.dataDir, 'n1');
    const node = as(await readPair(server.dataDir, 'node-n1'));
    const status = { message: 'x'.repeat(30_000) };
    await node.pods.patch({ namespace: 'team', name: 'web', subresource: 'status' }, { status });
    node.close();
    await editor.pods.delete({ namespace: 'team', name: 'web' }, { gracePeriodSeconds: 0 });
  });

  it('has room again for as much as is deleted, and bounds small objects by their number', async () => {
    await editor.objects.deleteCollection('ConfigMap', { namespace: 'team' });
    const small = await outcomes(Array.from({ length: 60 }, (_, i) => editor.configMaps.create(configMap(`small-${i}`, 1))));
    expect(measured('objects')).toBeLessThanOrEqual(namespaceLimits.objects);
    expect(small.stored).toBeGreaterThan(30);
    expect(small.refused[0]).toMatchObject(full);
    await editor.configMaps.delete({ namespace: 'team', name: 'small-0' });
    await editor.configMaps.create(configMap('small-0', 1));
  });
});

it('the files of the store are for their owner alone from the first start on', () => {
  expect([...modes.keys()]).toContain('data.mdb');
  for (const [name, mode] of modes) expect([name, mode]).toEqual([name, 0o600]);
});
