import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findCondition } from '../../api/meta/conditions.ts';
import { timestamp } from '../../api/meta/time.ts';
import { connect } from '../../client/index.ts';
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
  server = await startServer();
  stop = new AbortController();
  clock = createFakeClock();
  const [controllers, scheduler] = [await connectAs('controllers'), await connectAs('scheduler')];
  const logger = createFakeLogger();
  running = Promise.all([
    runControllers({ client: controllers, clock, logger }, stop.signal).finally(() => controllers.close()),
    runScheduler({ client: scheduler, logger }, stop.signal).finally(() => scheduler.close()),
  ]);
});
afterEach(async () => {
  stop.abort();
  await running;
  await server.stop();
  await server.remove();
});

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
  const known = await server.client.nodes.get({ name });
  const types = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];
  const lastHeartbeatTime = timestamp(new Date());
  const conditions = types.map((type) => ({ type, status: type === 'Ready' ? 'True' : 'False', lastHeartbeatTime }));
  await server.client.nodes.updateStatus({ ...known, status: { capacity: capacity!, allocatable: allocatable!, conditions } });
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

const readNode = async (name: string) => {
  const { spec, status } = await server.client.nodes.get({ name });
  return { ready: findCondition(status?.conditions, 'Ready'), taints: (spec?.taints ?? []).map(({ key }) => key) };
};

/** Lets the controllers' time pass, a second at a time with room for answers between, until the node is lost; tells how long it took. */
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

  it('keeps a pod that is deleted until it is deleted by force, which needs nobody', async () => {
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

describe('a node that does not exist any more', () => {
  it('takes its pods with it after 40 s', async () => {
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
