import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import { findCondition } from '../../api/meta/conditions.ts';
import { timestamp } from '../../api/meta/time.ts';
import { type Client, connect, type ResourceClient } from '../../client/index.ts';
import { runControllers } from '../../controllers/main.ts';
import { runScheduler } from '../../scheduler/main.ts';
import { node, type PodBuilder, pod } from '../builders/index.ts';
import { createFakeClock } from '../fakes/fake-clock.ts';
import { createFakeLogger } from '../fakes/fake-logger.ts';
import { isGone, podWhere, until } from './agent-harness.ts';
import { type RunningServer, readPair, startServer } from './apiserver-harness.ts';

// The controllers with a clock of the test's, a real API server, and the test as the agent.
let server: RunningServer;
let stop: AbortController;
let clock: ReturnType<typeof createFakeClock>;
let running: Promise<unknown>;

async function connectAs(component: string) {
  return connect({ address: server.info.address, ca: server.info.ca, ...(await readPair(server.dataDir, component)) });
}

beforeEach(async () => {
  told = undefined;
  server = await startServer();
  stop = new AbortController();
  clock = createFakeClock();
  const [controllers, scheduler] = [await connectAs('controllers'), await connectAs('scheduler')];
  const logger = createFakeLogger();
  running = Promise.all([
    runControllers({ client: telling(controllers), clock, logger }, stop.signal).finally(() => controllers.close()),
    runScheduler({ client: scheduler, logger }, stop.signal).finally(() => scheduler.close()),
  ]);
});
afterEach(async () => {
  stop.abort();
  await running;
  await server.stop();
  await server.remove();
});

/** The version up to which the controllers were told of Leases. */
let told: string | undefined;

/** A client whose lists and watches of Leases keep `told` up to date. */
function telling(client: Client): Client {
  const resource = (kind: Kind) => {
    const own: ResourceClient<ApiObject> = client.resource(kind);
    if (kind.kind !== 'Lease') return own;
    return {
      ...own,
      async list(...call: Parameters<typeof own.list>) {
        const page = await own.list(...call);
        told = page.metadata.resourceVersion ?? told;
        return page;
      },
      async *watch(...call: Parameters<typeof own.watch>) {
        for await (const events of own.watch(...call)) {
          yield events;
          // Asked for the next ones, the informer has taken these.
          told = events.at(-1)?.object.metadata?.resourceVersion ?? told;
        }
      },
    };
  };
  return { ...client, resource: resource as Client['resource'] };
}

/** What an agent writes at its start. */
async function register(name: string): Promise<void> {
  const { nodes, leases } = server.client;
  const { uid: _, creationTimestamp: __, ...metadata } = node(name).build().metadata ?? {};
  await nodes.create({ metadata, spec: {} });
  await sayReady(name);
  await leases.create({
    metadata: { namespace: 'kube-node-lease', name },
    spec: { holderIdentity: name, renewTime: timestamp(new Date()) },
  });
}

async function sayReady(name: string): Promise<void> {
  const { capacity, allocatable } = node(name).build().status ?? {};
  // As an agent, which patches its status: without a version, for controllers write the node as well.
  const { metadata: { resourceVersion: _, ...metadata } = {}, ...known } = await server.client.nodes.get({ name });
  const types = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];
  const lastHeartbeatTime = timestamp(new Date());
  const conditions = types.map((type) => ({ type, status: type === 'Ready' ? 'True' : 'False', lastHeartbeatTime }));
  const status = { capacity: capacity!, allocatable: allocatable!, conditions };
  await server.client.nodes.updateStatus({ ...known, metadata, status });
}

async function create(builder: PodBuilder): Promise<void> {
  const { metadata = {}, spec } = builder.build();
  const { uid: _, creationTimestamp: __, ...rest } = metadata;
  await server.client.pods.create({ metadata: rest, spec: spec! });
}

/** A pod that runs there, as its agent would say. */
async function run(name: string, nodeName: string): Promise<void> {
  await create(pod(name).on(nodeName));
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  await server.client.pods.patch({ namespace: 'default', name, subresource: 'status' }, { status });
}

/** The agents of these nodes say that they live; the controllers hear of it before their time goes on. */
async function renew(...names: string[]): Promise<void> {
  for (const name of names) {
    const patch = { spec: { renewTime: new Date().toISOString() } };
    const { metadata } = await server.client.leases.patch({ namespace: 'kube-node-lease', name }, patch);
    await until('the controllers hear of the Lease', () => Number(told ?? 0) >= Number(metadata?.resourceVersion));
  }
}

/**
 * Lets the controllers' time pass while these agents live, five seconds at a time with room for answers between; gives
 * how much it was, in seconds. With `look` until that is true.
 */
async function pass(
  seconds: number,
  alive: readonly string[],
  look: () => Promise<unknown> = async () => false,
): Promise<number> {
  for (let passed = 0; passed < seconds; passed += 5) {
    if (passed % 10 === 0) await renew(...alive);
    await clock.advance(5_000);
    await delay(5);
    if (await look()) return passed + 5;
  }
  return seconds;
}

const givenUp = async () => {
  const { items } = await server.client.nodes.list();
  const isGivenUp = ({ spec }: (typeof items)[number]) => spec?.taints?.some(({ effect }) => effect === 'NoExecute');
  return items.filter(isGivenUp).map(({ metadata }) => metadata?.name);
};
const leaving = async () => {
  const { items } = await server.client.pods.list({ namespace: 'default' });
  return items.filter(({ metadata }) => metadata?.deletionTimestamp).map(({ metadata }) => metadata?.name);
};

const readNode = async (name: string) => {
  const { spec, status } = await server.client.nodes.get({ name });
  return { ready: findCondition(status?.conditions, 'Ready'), taints: (spec?.taints ?? []).map(({ key }) => key) };
};

/**
 * Lets the controllers' time pass, a second at a time with room for answers between, until the node is lost;
 * tells how long it took.
 */
async function untilLost(name: string): Promise<number> {
  const start = clock.now();
  const look = async () => {
    await clock.advance(1_000);
    await delay(5);
    const { ready, taints } = await readNode(name);
    return ready?.status === 'Unknown' && taints.length > 0 && clock.now() - start;
  };
  return until('the node is unreachable', look, 50_000);
}

describe('a node whose agent is silent', () => {
  it('is unknown and tainted after 30 s and not before, avoided with that reason, its pods not ready; and well again when it says so', async () => {
    await register('n1');
    await run('web', 'n1');
    expect(await untilLost('n1')).toBeGreaterThanOrEqual(30_000);
    const lost = await readNode('n1');
    expect(lost.ready).toMatchObject({ reason: 'NodeStatusUnknown', message: expect.stringContaining('has not reported since') });
    expect(lost.taints).toEqual(['node.kubernetes.io/unreachable']);
    const web = await podWhere(
      server.client,
      'web',
      ({ status }) => findCondition(status?.conditions, 'Ready')?.status === 'False',
    );
    expect(web.status?.phase).toBe('Running');
    await create(pod('late'));
    const late = await podWhere(
      server.client,
      'late',
      ({ status }) => findCondition(status?.conditions, 'PodScheduled')?.status === 'False',
    );
    expect(findCondition(late.status?.conditions, 'PodScheduled')?.message).toBe(
      '0/1 nodes are available: 1 node(s) were unreachable.',
    );
    await sayReady('n1');
    await until('the taint is gone', async () => (await readNode('n1')).taints.length === 0);
    await podWhere(server.client, 'late', ({ spec }) => spec?.nodeName === 'n1');
  });

  it('keeps a deleted pod until it is force-deleted, which works without the agent', async () => {
    await register('n1');
    await run('web', 'n1');
    await untilLost('n1');
    await server.client.pods.delete({ namespace: 'default', name: 'web' });
    await clock.advance(60_000);
    const going = await server.client.pods.get({ namespace: 'default', name: 'web' });
    expect(going.metadata?.deletionTimestamp).toBeDefined();
    await server.client.pods.delete({ namespace: 'default', name: 'web' }, { gracePeriodSeconds: 0 });
    expect(await isGone(server.client, 'web')).toBe(true);
  });
});

describe('a deleted node', () => {
  it('loses its pods after 40 s', async () => {
    await register('n1');
    await run('web', 'n1');
    await create(pod('free'));
    await server.client.nodes.delete({ name: 'n1' });
    const start = clock.now();
    const look = async () => {
      await clock.advance(1_000);
      await delay(5);
      return isGone(server.client, 'web');
    };
    await until('its pod is removed', look, 50_000);
    expect(clock.now() - start).toBeGreaterThanOrEqual(40_000);
    expect(await isGone(server.client, 'free')).toBe(false);
  });
});

describe('pods of unreachable nodes', () => {
  it('are evicted after tolerationSeconds, with the reason; those of live nodes stay', async () => {
    for (const name of ['n1', 'n2', 'n3']) await register(name);
    await run('web', 'n1');
    await create(pod('soon').on('n1').toleration({ operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 20 }));
    await run('other', 'n2');
    const alive = ['n2', 'n3'];
    // What the controllers write takes real time, in which theirs goes on: there is a least for each, and no most.
    expect(await pass(600, alive, async () => (await givenUp()).length > 0)).toBeGreaterThanOrEqual(30);
    expect(await givenUp()).toEqual(['n1']);
    expect(await leaving()).toEqual([]);
    const soon = await pass(600, alive, async () => (await leaving()).length > 0);
    expect(soon).toBeGreaterThanOrEqual(15);
    expect(await leaving()).toEqual(['soon']);
    expect(soon + (await pass(1_200, alive, async () => (await leaving()).length > 1))).toBeGreaterThanOrEqual(290);
    expect(await leaving()).toEqual(['soon', 'web']);
    const web = await server.client.pods.get({ namespace: 'default', name: 'web' });
    expect(findCondition(web.status?.conditions, 'DisruptionTarget')).toMatchObject({
      status: 'True',
      reason: 'DeletionByTaintManager',
      message: 'node "n1" has the taint node.kubernetes.io/unreachable:NoExecute, which the pod does not tolerate, or no longer',
    });
  });

  it('stay when 60 % of the nodes are unreachable', async () => {
    const names = ['n1', 'n2', 'n3', 'n4', 'n5'];
    for (const name of names) {
      await register(name);
      await run(`web-${name}`, name);
    }
    await pass(400, names.slice(3));
    expect(await givenUp()).toEqual([]);
    expect(await leaving()).toEqual([]);
    const { items } = await server.client.nodes.list();
    expect(items.map(({ status }) => findCondition(status?.conditions, 'Ready')?.status)).toEqual([
      ...['Unknown', 'Unknown', 'Unknown'],
      ...['True', 'True'],
    ]);
  });

  it('that does not tolerate what a user drives pods away with leaves at once', async () => {
    await register('n1');
    await run('web', 'n1');
    await create(pod('guard').on('n1').toleration({ key: 'repair', operator: 'Exists' }));
    await server.client.nodes.patch(
      { name: 'n1' },
      { spec: { taints: [{ key: 'repair', value: 'disk', effect: 'NoExecute' }] } },
    );
    await podWhere(server.client, 'web', ({ metadata }) => metadata?.deletionTimestamp !== undefined);
    expect(await leaving()).toEqual(['web']);
  });
});
