import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Lease } from '../../api/generated/types.ts';
import type { LeaseTerm } from '../../api/meta/lease-term.ts';
import { type Client, connect } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

let server: RunningServer;
const clients: Client[] = [];

beforeAll(async () => {
  server = await startServer({ backend: 'lmdb' });
  await server.client.nodes.create({ metadata: { name: 'n1' } });
});
afterAll(async () => {
  for (const client of clients) client.close();
  await server.stop();
  await server.remove();
});

const at = (name: string) => ({ namespace: 'default', name });
const configMap = (name: string) => ({ metadata: at(name), data: { a: 'b' } });

/** Takes the Lease over for a new holder; gives a client that writes under the term. */
async function lead(name: string, holder: string): Promise<Client> {
  const { leases } = server.client;
  const before = await leases.get(at(name)).catch(() => undefined);
  const spec = { ...before?.spec, holderIdentity: holder, leaseTransitions: (before?.spec?.leaseTransitions ?? -1) + 1 };
  const lease: Lease = { ...before, metadata: { ...before?.metadata, ...at(name) }, spec };
  const { spec: stored } = await (before ? leases.update(lease) : leases.create(lease));
  const term: LeaseTerm = { ...at(name), holder, transitions: stored?.leaseTransitions ?? 0 };
  const client = connect({ ...server.admin, leaseTerm: () => term });
  clients.push(client);
  return client;
}

describe('writes under a leader’s term', () => {
  it('are carried out while the leader holds its Lease', async () => {
    const leader = await lead('held', 'a');
    await expect(leader.configMaps.create(configMap('held'))).resolves.toMatchObject({ data: { a: 'b' } });
  });

  it('are refused with ABORTED after another has taken over, by every verb, alone and in a stream', async () => {
    await server.client.configMaps.create(configMap('kept'));
    await server.client.pods.create({ metadata: at('kept'), spec: { containers: [{ name: 'c', image: 'i' }] } });
    const old = await lead('lost', 'a');
    await lead('lost', 'b');
    const writer = old.bulkWriter();
    const inStream = writer.resource('ConfigMap');
    const attempts: Record<string, () => Promise<unknown>> = {
      create: () => old.configMaps.create(configMap('late')),
      patch: () => old.configMaps.patch(at('kept'), { data: { a: 'late' } }),
      status: () => old.pods.patch({ ...at('kept'), subresource: 'status' }, { status: { message: 'late' } }),
      delete: () => old.configMaps.delete(at('kept')),
      bind: () => old.pods.bind(at('kept'), 'n1'),
      evict: () => old.pods.evict(at('kept')),
      'create in a stream': () => inStream.create(configMap('late')),
      'patch in a stream': () => inStream.patch(at('kept'), { data: { a: 'late' } }),
      'delete in a stream': () => inStream.delete(at('kept')),
    };
    for (const [what, attempt] of Object.entries(attempts))
      await expect(attempt(), what).rejects.toMatchObject({ code: 'ABORTED', message: expect.stringMatching(/stop leading/) });
    await writer.close();
    expect((await server.client.configMaps.get(at('kept'))).data).toEqual({ a: 'b' });
    expect((await server.client.pods.get(at('kept'))).spec?.nodeName ?? '').toBe('');
    await expect(server.client.configMaps.get(at('late'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('cannot follow a list that the next leader makes, however many are under way at the takeover', async () => {
    for (let round = 0; round < 10; round++) {
      const old = await lead('raced', `old-${round}`);
      const writer = old.bulkWriter({ answers: 'metadata' });
      const creates = writer.resource('ConfigMap');
      let isOver = false;
      const outcomes: Promise<boolean>[] = [];
      const flood = async () => {
        for (let nth = 0; !isOver && nth < 5_000; nth++) {
          outcomes.push(
            creates.create(configMap(`raced-${round}-${nth}`)).then(
              () => true,
              () => false,
            ),
          );
          if (nth % 20 === 0) await new Promise(setImmediate);
        }
      };
      const flooding = flood();
      await new Promise((resolve) => setTimeout(resolve, 5 * round));
      const next = await lead('raced', `new-${round}`);
      const listed = await countRaced(next, round);
      isOver = true;
      await flooding;
      const made = (await Promise.all(outcomes)).filter(Boolean).length;
      await writer.close();
      expect({ round, listed, later: await countRaced(next, round) }).toEqual({ round, listed: made, later: made });
    }
  }, 60_000);
});

async function countRaced(client: Client, round: number): Promise<number> {
  let count = 0;
  for (let token = ''; ; ) {
    const page = await client.configMaps.list({ namespace: 'default', ...(token && { continue: token }) });
    count += page.items.filter(({ metadata }) => metadata?.name?.startsWith(`raced-${round}-`)).length;
    token = page.metadata.continue ?? '';
    if (token === '') return count;
  }
}
