import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { findCondition } from '../../api/meta/conditions.ts';
import { hollowAnnotations } from '../../bench/hollow/behaviour.ts';
import { type HollowNodes, startHollowNodes } from '../../bench/hollow/start.ts';
import { type Clock, systemClock } from '../../client/clock.ts';
import { connect } from '../../client/index.ts';
import { runControllers } from '../../controllers/main.ts';
import { runScheduler } from '../../scheduler/main.ts';
import { createFakeLogger } from '../fakes/fake-logger.ts';
import { isGone, podWhere, until } from './agent-harness.ts';
import { type RunningServer, readPair, startServer } from './apiserver-harness.ts';

/** A node is lost after 30 s without its agent: 3 s here, for agents and controllers alike. */
const speed = 10;
const fastClock: Clock = {
  now: () => beganAt + (systemClock.now() - beganAt) * speed,
  after: (ms, callback) => systemClock.after(ms / speed, callback),
};
const beganAt = Date.now();

let server: RunningServer;
let stateDir: string;
let nodes: HollowNodes;
let running: Promise<unknown>;
const stop = new AbortController();
const stopNodes = new AbortController();
const ready: number[] = [];

beforeAll(async () => {
  server = await startServer({ backend: 'lmdb' });
  stateDir = await mkdtemp(join(tmpdir(), 'berth-hollow-test-'));
  const { address, ca } = server.info;
  const connectAs = async (name: string) => connect({ address, ca, ...(await readPair(server.dataDir, name)) });
  const [controllers, scheduler] = [await connectAs('controllers'), await connectAs('scheduler')];
  const logger = createFakeLogger();
  running = Promise.all([
    runControllers({ client: controllers, clock: fastClock, logger }, stop.signal).finally(() => controllers.close()),
    runScheduler({ client: scheduler, logger }, stop.signal).finally(() => scheduler.close()),
  ]);
  nodes = await startHollowNodes(
    {
      count: 5,
      admin: server.admin,
      options: { namePrefix: 'h', zones: 2, readyAfterMs: 500 },
      stateDir,
      onProgress: (count) => ready.push(count),
      logger,
      clock: fastClock,
    },
    stopNodes.signal,
  );
});

afterAll(async () => {
  stopNodes.abort();
  await nodes?.ended;
  stop.abort();
  await running;
  await server.stop();
  await server.remove();
  await rm(stateDir, { recursive: true, force: true });
});

async function create(name: string, annotations: Record<string, string> = {}, spec: Pod['spec'] = {}): Promise<void> {
  const resources = { requests: { cpu: { string: '100m' }, memory: { string: '64Mi' } } };
  await server.client.pods.create({
    metadata: { namespace: 'default', name, annotations, labels: { app: name.split('-')[0]! } },
    spec: { containers: [{ name: 'c', image: 'nowhere/web:1', resources }], ...spec },
  });
}

const pods = async (app: string) => (await server.client.pods.list({ namespace: 'default', labelSelector: `app=${app}` })).items;

describe('five hollow nodes', () => {
  it('are Ready, in their zones, when the start resolves', async () => {
    const { items } = await server.client.nodes.list({});
    expect(items.map(({ metadata }) => metadata?.name).sort()).toEqual(['h-0', 'h-1', 'h-2', 'h-3', 'h-4']);
    for (const { status } of items) expect(findCondition(status?.conditions, 'Ready')?.status).toBe('True');
    expect(items.map(({ metadata }) => metadata?.labels?.['topology.kubernetes.io/zone']).sort()).toEqual([
      'zone-0',
      'zone-0',
      'zone-0',
      'zone-1',
      'zone-1',
    ]);
    expect(ready).toEqual([1, 2, 3, 4, 5]);
  });

  it('run 20 pods until all are Ready, with addresses that differ, and report their usage', async () => {
    await Promise.all(Array.from({ length: 20 }, (_, index) => create(`web-${index}`)));
    const all = await until('20 pods are Ready', async () => {
      const items = await pods('web');
      return items.length === 20 && items.every(isPodReady) && items;
    });
    expect(new Set(all.map(({ status }) => status?.podIP)).size).toBe(20);
    expect(new Set(all.map(({ spec }) => spec?.nodeName)).size).toBe(5);
    const used = await until('usage of 20 pods', async () => {
      const { items } = await server.client.nodeMetrics.list({});
      const of = items.flatMap(({ pods: reported = [] }) => reported);
      return of.length === 20 && of;
    });
    for (const { containers = [] } of used) expect(containers[0]?.usage?.cpu?.string).toBe('10m');
  });

  it('fail what annotations tell them to fail', async () => {
    await create('bad-exit', { [hollowAnnotations.exitCode]: '3' }, { restartPolicy: 'Never' });
    await create('bad-image', { [hollowAnnotations.pullError]: 'true' });
    await create('bad-never', { [hollowAnnotations.neverReady]: 'true' });
    const { status } = await podWhere(server.client, 'bad-exit', ({ status: now }) => now?.phase === 'Failed');
    expect(status?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(3);
    const waits = ({ status: now }: Pod) =>
      /^(ErrImagePull|ImagePullBackOff)$/.test(now?.containerStatuses?.[0]?.state?.waiting?.reason ?? '');
    await podWhere(server.client, 'bad-image', waits);
    const never = await podWhere(server.client, 'bad-never', ({ status: now }) => now?.phase === 'Running');
    expect(isPodReady(never)).toBe(false);
  });

  it('refuse to attach to what runs: no process would answer', async () => {
    await podWhere(server.client, 'web-1', isPodReady);
    const asked = { namespace: 'default', name: 'web-1', fromStart: true };
    const { output } = server.client.pods.attach(asked, { container: 'c', stdin: true, stdout: true, stderr: true });
    const read = async () => {
      for await (const _ of output());
    };
    await expect(read()).rejects.toThrow(/attach to container .*: hollow node: no process/);
  });

  it('delete a pod when they are told to', async () => {
    await server.client.pods.delete({ namespace: 'default', name: 'web-0' });
    await until('the pod is gone', () => isGone(server.client, 'web-0'));
  });

  it('lose one: it is Unknown after the grace period, its pods are not Ready, and the others run on', async () => {
    await expect(nodes.lose('h-9')).rejects.toThrow('no hollow node is called "h-9"');
    await nodes.lose('h-0');
    const readyOf = async (name: string) => findCondition((await server.client.nodes.get({ name })).status?.conditions, 'Ready');
    await until('the node is Unknown', async () => (await readyOf('h-0'))?.status === 'Unknown');
    await until('no pod of it is Ready', async () =>
      (await pods('web')).every((pod) => pod.spec?.nodeName !== 'h-0' || !isPodReady(pod)),
    );
    for (const name of nodes.names.slice(1)) expect((await readyOf(name))?.status).toBe('True');
  });

  it('are deleted on request when they have stopped', async () => {
    stopNodes.abort();
    await nodes.ended;
    await nodes.remove();
    expect((await server.client.nodes.list({})).items).toEqual([]);
  });
});
