import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { type BulkWrite, type Client, connect, type JsonObject } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { killProcess, startServerProcess } from './server-process.ts';

let server: RunningServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

const podOf = (namespace: string, name: string, resources: JsonObject = {}): JsonObject => ({
  metadata: { namespace, name },
  spec: { containers: [{ name: 'c', image: 'i', resources }] },
});
const plainPod = (namespace: string, name: string): Pod => podOf(namespace, name) as Pod;

async function makeTeam(
  namespace: string,
  hard: Record<string, string>,
  more: JsonObject = {},
  client = server.client,
): Promise<void> {
  await client.namespaces.create({ metadata: { name: namespace } });
  await client.objects.create('ResourceQuota', { metadata: { namespace, name: 'q' }, spec: { hard, ...more } });
}

const refusal = async (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'admitted',
    (error: Error) => error.message,
  );

describe('quotas', () => {
  test('refuse what exceeds them with Kubernetes’ words, also of a dry run, which takes nothing', async () => {
    await makeTeam('words', { pods: '1', 'requests.cpu': '1', secrets: '1', 'count/deployments.apps': '0' });
    const { objects } = server.client;
    expect(await refusal(objects.create('Pod', podOf('words', 'a')))).toBe(
      'pods "a" is forbidden: failed quota: q: must specify requests.cpu for: c',
    );
    const fits = podOf('words', 'a', { requests: { cpu: '600m' } });
    await objects.create('Pod', fits, { dryRun: ['All'] });
    await objects.create('Pod', fits);
    const second = podOf('words', 'b', { requests: { cpu: '600m' } });
    const message =
      'pods "b" is forbidden: exceeded quota: q, requested: pods=1,requests.cpu=600m, used: pods=1,requests.cpu=600m, limited: pods=1,requests.cpu=1';
    expect(await refusal(objects.create('Pod', second))).toBe(message);
    expect(await refusal(objects.create('Pod', second, { dryRun: ['All'] }))).toBe(message);
    await expect(objects.create('Pod', second)).rejects.toMatchObject({ code: 'PERMISSION_DENIED', reason: 'Forbidden' });
    await objects.create('Secret', { metadata: { namespace: 'words', name: 's' } });
    expect(await refusal(objects.create('Secret', { metadata: { namespace: 'words', name: 't' } }))).toContain('secrets=1');
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const deployment = { metadata: { namespace: 'words', name: 'd' }, spec: { selector: { matchLabels: { a: 'b' } }, template } };
    expect(await refusal(objects.create('Deployment', deployment))).toBe(
      'deployments.apps "d" is forbidden: exceeded quota: q, requested: count/deployments.apps=1, used: count/deployments.apps=0, limited: count/deployments.apps=0',
    );
  });

  test('bound resizes, forget pods that have ended or gone, and hold from the answer to their create on', async () => {
    await makeTeam('sizes', { 'requests.cpu': '1' });
    const { objects, pods } = server.client;
    const key = { namespace: 'sizes', name: 'a' };
    await objects.create('Pod', podOf('sizes', 'a', { requests: { cpu: '400m' } }));
    const size = (cpu: string) =>
      pods.patch(
        { ...key, subresource: 'resize', type: 'strategic' },
        { spec: { containers: [{ name: 'c', resources: { requests: { cpu } } }] } },
      );
    await size('900m');
    expect(await refusal(size('1100m'))).toBe(
      'pods "a" is forbidden: exceeded quota: q, requested: requests.cpu=200m, used: requests.cpu=900m, limited: requests.cpu=1',
    );
    expect(await refusal(objects.create('Pod', podOf('sizes', 'b', { requests: { cpu: '200m' } })))).toContain('exceeded');
    await pods.patch({ ...key, subresource: 'status' }, { status: { phase: 'Succeeded' } });
    await objects.create('Pod', podOf('sizes', 'b', { requests: { cpu: '1' } }));
    await pods.delete({ namespace: 'sizes', name: 'b' }, { gracePeriodSeconds: 0 });
    await objects.create('Pod', podOf('sizes', 'c', { requests: { cpu: '1' } }));
  });

  test('and limit ranges complete each other: what a pod does not say it gets, and that counts', async () => {
    await makeTeam('limits', { 'requests.cpu': '1' });
    const { objects, pods } = server.client;
    const limits = [{ type: 'Container', defaultRequest: { cpu: '300m' }, max: { cpu: '1' } }];
    await objects.create('LimitRange', { metadata: { namespace: 'limits', name: 'l' }, spec: { limits } });
    const made = await objects.create('Pod', podOf('limits', 'a'));
    expect(made).toMatchObject({
      metadata: {
        annotations: {
          'kubernetes.io/limit-ranger': 'LimitRanger plugin set: cpu request for container c; cpu limit for container c',
        },
      },
      spec: { containers: [{ resources: { requests: { cpu: '300m' }, limits: { cpu: '1' } } }] },
      status: { qosClass: 'Burstable' },
    });
    const large = { requests: { cpu: '100m' }, limits: { cpu: '2' } };
    expect(await refusal(objects.create('Pod', podOf('limits', 'b', large)))).toBe(
      'pods "b" is forbidden: maximum cpu usage per Container is 1, but limit is 2',
    );
    const resize = { spec: { containers: [{ name: 'c', resources: { limits: { cpu: '1500m' } } }] } };
    expect(await refusal(pods.patch({ namespace: 'limits', name: 'a', subresource: 'resize', type: 'strategic' }, resize))).toBe(
      'pods "a" is forbidden: maximum cpu usage per Container is 1, but limit is 1500m',
    );
    await objects.create('Pod', podOf('limits', 'c'));
    await objects.create('Pod', podOf('limits', 'd'));
    expect(await refusal(objects.create('Pod', podOf('limits', 'e')))).toContain(
      'requested: requests.cpu=300m, used: requests.cpu=900m',
    );
  });

  test('of a stream hold for what follows them on it', async () => {
    await server.client.namespaces.create({ metadata: { name: 'stream' } });
    const writes: BulkWrite[] = [
      {
        verb: 'create',
        kind: 'ResourceQuota',
        object: { metadata: { namespace: 'stream', name: 'q' }, spec: { hard: { pods: '2' } } },
      },
      ...Array.from({ length: 5 }, (_, i) => ({ verb: 'create', kind: 'Pod', object: podOf('stream', `p${i}`) }) as const),
    ];
    let refused = 0;
    for await (const result of server.client.objects.bulk(writes)) if (result.error) refused++;
    expect(refused).toBe(3);
  });
});

interface Race {
  readonly namespace: string;
  readonly count: number;
  readonly from?: number;
  readonly onAdmitted?: () => void;
}

/** Creates pods at once, half of them on streams, from several clients. */
async function race(clients: readonly Client[], { namespace, count, from = 0, onAdmitted }: Race) {
  const writers = clients.map((client) => client.bulkWriter({ answers: 'metadata' }));
  const attempts = Array.from({ length: count }, async (_, i) => {
    const at = i % clients.length;
    const pod = plainPod(namespace, `p${from + i}`);
    await (i % 2 === 0 ? clients[at]!.pods.create(pod) : writers[at]!.resource('Pod').create(pod));
    onAdmitted?.();
  });
  const results = await Promise.allSettled(attempts);
  await Promise.all(writers.map((writer) => writer.close()));
  return results;
}

async function countPods(client: Client, namespace: string): Promise<number> {
  const { items } = await client.pods.list({ namespace, limit: 500 });
  return items.length;
}

test('of 200 creates at once, unary and on streams of several clients, exactly as many are let in as fit', async () => {
  await makeTeam('race', { pods: '50' });
  const clients = Array.from({ length: 4 }, () => connect(server.admin));
  const results = await race(clients, { namespace: 'race', count: 200 });
  for (const client of clients) client.close();
  const refusals = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason as Error);
  expect(refusals).toHaveLength(150);
  for (const { message } of refusals)
    expect(message).toContain('exceeded quota: q, requested: pods=1, used: pods=50, limited: pods=50');
  expect(await countPods(server.client, 'race')).toBe(50);
}, 60_000);

test('a server that is killed while pods are made never has more than fit', async () => {
  const seed = await startServer({ backend: 'lmdb' });
  await makeTeam('race', { pods: '50' }, {}, seed.client);
  await seed.stop();
  let running = await startServerProcess(seed.dataDir, seed.info.address);
  try {
    for (const round of [0, 1, 2, 3]) {
      const clients = Array.from({ length: 3 }, () => connect(seed.admin));
      for (const client of clients) await client.namespaces.get({ name: 'race' });
      let admitted = 0;
      let killed: Promise<void> | undefined;
      const onAdmitted = (): void => {
        admitted++;
        // In the middle of each round but the last.
        if (round < 3 && admitted >= 5) killed ??= killProcess(running);
      };
      await race(clients, { namespace: 'race', count: 80, from: round * 100, onAdmitted });
      await killed;
      if (killed) running = await startServerProcess(seed.dataDir, seed.info.address);
      for (const client of clients) client.close();
      const counter = connect(seed.admin);
      const stored = await countPods(counter, 'race');
      counter.close();
      expect(stored).toBeGreaterThanOrEqual(admitted);
      expect(stored).toBeLessThanOrEqual(50);
      if (round === 3) expect(stored).toBe(50);
    }
  } finally {
    await killProcess(running);
    await seed.remove();
  }
}, 120_000);
