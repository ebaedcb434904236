import { describe, expect, it } from 'vitest';
import { notFound, unavailable } from '../../api/errors/index.ts';
import type { Lease, Node } from '../../api/generated/types.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import { createNodeLease, NodeNameTakenError } from './node-lease.ts';
import type { NodeView } from './node-view.ts';

type Client = ReturnType<typeof createFakeResourceClient<Lease>>;

/** A Node that is as the agent has seen it last. */
function viewOf(node: () => Node | undefined): Pick<NodeView, 'last' | 'read'> {
  const read = async () => {
    const found = node();
    if (!found) throw notFound({ kind: 'Node', name: 'n1' });
    return found;
  };
  return { last: node, read };
}

/** Process 7 of a machine called as its holder. */
function leaseOf(holder: string, client: Client, clock: ReturnType<typeof createFakeClock>, node = viewOf(() => undefined)) {
  const facts = { host: holder, dataDir: '/d', pid: 7 };
  return createNodeLease({
    client,
    nodeName: 'n1',
    node,
    holder,
    facts,
    clock,
    logger: createFakeLogger(),
  });
}

async function setup(node?: Pick<NodeView, 'last' | 'read'>) {
  const clock = createFakeClock();
  const client = createFakeResourceClient<Lease>({ kind: 'Lease' });
  const lease = leaseOf('me', client, clock, node);
  const stop = new AbortController();
  await lease.acquire(stop.signal);
  const running = lease.run(stop.signal);
  const renewals = () => client.callLog('update').length;
  return {
    ...{ clock, client, renewals, unbrokenSince: () => lease.unbrokenSince() },
    async end() {
      stop.abort();
      await running;
    },
  };
}

describe("the node's lease", () => {
  it('is renewed every 10 s', async () => {
    const { clock, renewals, end } = await setup();
    await clock.advance(60_000);
    expect(renewals()).toBe(6);
    await end();
  });

  it('is renewed within 5 s of the return of a server that was away, and every 10 s from then on', async () => {
    const { clock, client, renewals, end } = await setup();
    const outage = setOutage(client);
    await clock.advance(120_000);
    outage.end();
    const before = renewals();
    await clock.advance(5_000);
    expect(renewals() - before).toBe(1);
    await clock.advance(60_000);
    expect(renewals() - before).toBe(7);
    await end();
  });
});

describe('the time since which the lease was renewed without a break', () => {
  it('is that of the first renewal, as long as the next ones come in time', async () => {
    const { clock, unbrokenSince, end } = await setup();
    expect(unbrokenSince()).toBeUndefined();
    await clock.advance(10_000);
    const since = clock.now();
    expect(unbrokenSince()).toBe(since);
    await clock.advance(300_000);
    expect(unbrokenSince()).toBe(since);
    await end();
  });

  it('begins anew after an outage, and is unknown during it', async () => {
    const { clock, client, unbrokenSince, end } = await setup();
    await clock.advance(20_000);
    const outage = setOutage(client);
    await clock.advance(10_000);
    expect(unbrokenSince()).toBeUndefined();
    outage.end();
    const back = clock.now();
    await clock.advance(10_000);
    expect(unbrokenSince()).toBeGreaterThanOrEqual(back);
    await end();
  });

  it('begins anew after a renewal that took too long, and after the process stood still', async () => {
    const { clock, client, unbrokenSince, end } = await setup();
    await clock.advance(20_000);
    const { update } = client;
    let answer = (): void => {};
    client.update = async (...sent) => {
      const updated = await update(...sent);
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return updated;
    };
    await clock.advance(25_000);
    expect(unbrokenSince()).toBeUndefined();
    client.update = update;
    answer();
    await clock.advance(0);
    expect(unbrokenSince()).toBe(clock.now());
    await clock.advance(20_000);
    clock.skew(40_000);
    expect(unbrokenSince()).toBeUndefined();
    await end();
  });

  it('begins anew when the lease had to be made again', async () => {
    const { clock, client, unbrokenSince, end } = await setup();
    await clock.advance(20_000);
    client.remove('kube-node-lease/n1');
    await clock.advance(10_000);
    expect(client.stored('kube-node-lease/n1')).toBeDefined();
    expect(unbrokenSince()).toBe(clock.now());
    await end();
  });
});

describe("the owner of the node's lease", () => {
  it('is the Node from the first renewal after its registration on, and the new one when it was made again', async () => {
    let node: Node | undefined;
    const { clock, client, end } = await setup(viewOf(() => node));
    const owners = () => client.stored('kube-node-lease/n1')?.metadata?.ownerReferences;
    await clock.advance(10_000);
    expect(owners()).toBeUndefined();
    node = { metadata: { name: 'n1' } };
    await clock.advance(10_000);
    expect(owners()).toBeUndefined();
    node = { metadata: { name: 'n1', uid: 'first' } };
    await clock.advance(10_000);
    expect(owners()).toEqual([{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'first' }]);
    const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'other', uid: 'o' };
    const stored = client.stored('kube-node-lease/n1')!;
    client.put({ ...stored, metadata: { ...stored.metadata, ownerReferences: [other, ...owners()!] } });
    node = { metadata: { name: 'n1', uid: 'second' } };
    await clock.advance(20_000);
    expect(owners()).toEqual([other, { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'second' }]);
    await end();
  });
});

describe('a lease that has gone with its Node', () => {
  it('is made again with the renewal that finds it gone, and does not name the Node that was deleted', async () => {
    let now: Node | undefined = { metadata: { name: 'n1', uid: 'first' } };
    let last = now;
    const { clock, client, end } = await setup({ ...viewOf(() => now), last: () => last });
    const stored = () => client.stored('kube-node-lease/n1')?.metadata;
    await clock.advance(10_000);
    expect(stored()?.ownerReferences).toMatchObject([{ uid: 'first' }]);
    now = undefined;
    client.remove('kube-node-lease/n1');
    await clock.advance(10_000);
    expect([stored() !== undefined, stored()?.ownerReferences]).toEqual([true, undefined]);
    await clock.advance(20_000);
    expect(stored()?.ownerReferences).toBeUndefined();
    now = { metadata: { name: 'n1', uid: 'second' } };
    await clock.advance(10_000);
    expect(stored()?.ownerReferences).toMatchObject([{ uid: 'second' }]);
    last = now;
    await clock.advance(10_000);
    expect(stored()?.ownerReferences).toMatchObject([{ uid: 'second' }]);
    await end();
  });
});

describe('a node name that another agent holds', () => {
  async function contend() {
    const clock = createFakeClock();
    const client = createFakeResourceClient<Lease>({ kind: 'Lease' });
    const stop = new AbortController();
    const other = leaseOf('other', client, clock);
    await other.acquire(stop.signal);
    const taken = leaseOf('me', client, clock).acquire(stop.signal);
    return { clock, client, stop, other, taken, outcome: taken.catch((error: unknown) => error) };
  }

  it('is refused as soon as the other is seen alive, with its machine, process and data directory', async () => {
    const { clock, other, stop, outcome } = await contend();
    const running = other.run(stop.signal);
    await clock.advance(12_000);
    expect(await outcome).toBeInstanceOf(NodeNameTakenError);
    expect(((await outcome) as Error).message).toBe(
      'node "n1" is run by another live agent, process 7 on machine other with data directory /d: stop that one, or start this one with another --node-name',
    );
    stop.abort();
    await running;
  });

  it('is taken over after 40 s of silence, not earlier', async () => {
    const { clock, client, taken } = await contend();
    await clock.advance(38_000);
    const holder = () => client.stored('kube-node-lease/n1')?.metadata?.annotations?.['berth.io/holder-identity'];
    expect(holder()).toBe('other');
    await clock.advance(4_000);
    await taken;
    expect(client.stored('kube-node-lease/n1')).toMatchObject({
      metadata: {
        annotations: {
          ...{ 'berth.io/holder-identity': 'me', 'berth.io/holder-host': 'me' },
          ...{ 'berth.io/holder-data-dir': '/d', 'berth.io/holder-process': '7' },
        },
      },
      spec: { holderIdentity: 'n1', leaseTransitions: 1 },
    });
  });

  it('is contested from when the other is found until it is taken over', async () => {
    const { client, clock, stop, outcome } = await contend();
    const mine = leaseOf('third', client, clock);
    expect(mine.isContested()).toBe(false);
    const taken = mine.acquire(stop.signal).catch(() => {});
    await clock.advance(0);
    expect(mine.isContested()).toBe(true);
    stop.abort();
    await Promise.all([taken, outcome]);
    const again = leaseOf('other', client, clock);
    await again.acquire(new AbortController().signal);
    expect(again.isContested()).toBe(false);
  });

  it('ends the agent that held it before, when that returns from an outage of more than 40 s', async () => {
    const clock = createFakeClock();
    const client = createFakeResourceClient<Lease>({ kind: 'Lease' });
    const stop = new AbortController();
    // Its own way to the server is cut.
    const cut: Client = { ...client };
    const first = leaseOf('first', cut, clock);
    await first.acquire(stop.signal);
    const outcome = first.run(stop.signal).catch((error: unknown) => error);
    const outage = setOutage(cut);
    const taken = leaseOf('me', client, clock).acquire(stop.signal);
    await clock.advance(45_000);
    await taken;
    const before = client.stored('kube-node-lease/n1');
    outage.end();
    await clock.advance(5_000);
    stop.abort();
    expect(await outcome).toBeInstanceOf(NodeNameTakenError);
    expect(client.stored('kube-node-lease/n1')).toEqual(before);
  });

  it('is taken back at once by the same holder', async () => {
    const { client, clock, stop, outcome } = await contend();
    await leaseOf('other', client, clock).acquire(stop.signal);
    expect(client.stored('kube-node-lease/n1')?.spec?.leaseTransitions ?? 0).toBe(0);
    stop.abort();
    await outcome;
  });
});

describe('the lease of an agent of the minor version before, which has its identity as holderIdentity', () => {
  const left = (holderIdentity: string, annotations = {}) => {
    const client = createFakeResourceClient<Lease>({ kind: 'Lease' });
    client.put({ metadata: { namespace: 'kube-node-lease', name: 'n1', annotations }, spec: { holderIdentity } });
    const clock = createFakeClock();
    return { client, clock, lease: leaseOf('me', client, clock) };
  };

  it('is taken at once by the same agent, and has the name of the node from then on', async () => {
    const { client, lease } = left('me');
    await lease.acquire(new AbortController().signal);
    expect(client.stored('kube-node-lease/n1')?.spec).toMatchObject({ holderIdentity: 'n1', leaseTransitions: 0 });
  });

  it.each([
    ['another agent', 'other', {}],
    ['another agent, after this one had it', 'other', { 'berth.io/holder-identity': 'me' }],
    ['a kubelet of the same node', 'n1', {}],
  ])('is contested when it is held by %s', async (_, holder, annotations) => {
    const { clock, lease } = left(holder, annotations);
    const stop = new AbortController();
    const taken = lease.acquire(stop.signal);
    await clock.advance(0);
    expect(lease.isContested()).toBe(true);
    stop.abort();
    await taken;
  });
});

/** Every call fails until it ends. */
function setOutage(client: Client) {
  const { get, update } = client;
  const away = async () => {
    throw unavailable('away');
  };
  Object.assign(client, { get: away, update: away });
  return { end: () => Object.assign(client, { get, update }) };
}
