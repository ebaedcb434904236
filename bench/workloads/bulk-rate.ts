import { encodeMessage } from '../../api/codec/message.ts';
import { loadTarget, runLoad } from '../api/h2load.ts';
import type { BenchServer } from '../berth.ts';
import { median } from '../figure.ts';

const itemsPerStream = 100;
const streams = 40;
const rounds = 3;
const namespace = 'bulk-rate';

/**
 * How many pods the server creates in a second over `Objects.Bulk`, with everything else of the cluster running beside:
 * the floor that the benches of workloads are compared with. The pods name a scheduler that there is not, so that
 * nothing acts on them, and are deleted afterwards.
 */
export async function measureBulkRate(server: BenchServer): Promise<number> {
  const { client } = server;
  await client.namespaces.create({ metadata: { name: namespace } });
  await waitForAccount(server);
  const object = encodeMessage('berth.core.v1.Pod', {
    metadata: { generateName: 'rate-', namespace, labels: { app: 'rate' } },
    spec: { schedulerName: 'none', containers: [{ name: 'c', image: 'i' }] },
  });
  const create = { kind: { kind: 'Pod' }, object, accept: 'metadata' };
  const items = Array.from({ length: itemsPerStream }, (_, id) => ({ id, create }));
  const request = encodeMessage('berth.meta.v1.BulkRequest', { items });
  const call = { path: '/berth.meta.v1.Objects/Bulk', request, count: streams, atOnce: { connections: 2, streams: 2 } };
  const rates: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const { rate } = await runLoad(loadTarget(server), call);
    // The first warms up.
    if (round > 0) rates.push(rate * itemsPerStream);
  }
  const expected = (rounds + 1) * streams * itemsPerStream;
  const { items: one, metadata } = await client.pods.list({ namespace, limit: 1 });
  const made = one.length + (metadata.remainingItemCount ?? 0);
  if (made !== expected) throw new Error(`${made} of ${expected} pods were created`);
  await client.namespaces.delete({ name: namespace });
  while ((await client.pods.list({ namespace, limit: 1 })).items.length > 0)
    await new Promise((resolve) => setTimeout(resolve, 200));
  return median(rates);
}

/** Pods are refused before their namespace has its service account. */
async function waitForAccount({ client }: BenchServer): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const found = await client.serviceAccounts.get({ namespace, name: 'default' }).catch(() => undefined);
    if (found) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`namespace ${namespace} has no service account after 10 s`);
}
