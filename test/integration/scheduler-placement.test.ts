import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Node, Pod } from '../../client/index.ts';
import { node, type PodBuilder, pod } from '../builders/index.ts';
import * as add from './scheduler-cluster.ts';
import { type SchedulerCluster, startSchedulerCluster } from './scheduler-cluster.ts';

let cluster: SchedulerCluster;
beforeEach(async () => {
  cluster = await startSchedulerCluster();
});
afterEach(() => cluster.stop());

const boundTo = (object: Pod) => object.spec?.nodeName ?? '';
const isBound = (object: Pod) => boundTo(object) !== '';
const scheduled = (object: Pod | undefined) => object?.status?.conditions?.find(({ type }) => type === 'PodScheduled');

const addNode = (built: Node) => add.addNode(cluster, built);
const addPod = (builder: PodBuilder) => add.addPod(cluster, builder);

describe('the scheduler with a real API server', () => {
  it('binds pods, marks them scheduled and tells it in events', async () => {
    cluster.startScheduler();
    await addNode(node('n1').build());
    await addNode(node('n2').build());
    for (let i = 0; i < 6; i++) await addPod(pod(`web-${i}`).requests({ cpu: '100m', memory: '64Mi' }));
    const pods = await cluster.podsUntil((all) => all.length === 6 && all.every(isBound));
    expect(new Set(pods.map(boundTo))).toEqual(new Set(['n1', 'n2']));
    expect(pods.map((object) => scheduled(object)?.status)).toEqual(Array(6).fill('True'));
    await expect
      .poll(async () => (await cluster.client.events.list({ namespace: 'default' })).items.map(({ message }) => message), {
        timeout: 10_000,
      })
      .toContain(`Successfully assigned default/web-0 to ${boundTo(pods.find(({ metadata }) => metadata?.name === 'web-0')!)}`);
  });

  it('explains an unschedulable pod and binds it after a node appears', async () => {
    cluster.startScheduler();
    await addNode(node('small').build());
    await addPod(pod('big').requests({ cpu: '6' }));
    const [waiting] = await cluster.podsUntil(([big]) => scheduled(big)?.status === 'False');
    expect(scheduled(waiting)).toMatchObject({
      reason: 'Unschedulable',
      message: '0/1 nodes are available: 1 insufficient cpu.',
    });
    await addNode(node('large').capacity({ cpu: '8' }).build());
    const [bound] = await cluster.podsUntil(([big]) => big !== undefined && isBound(big));
    expect([boundTo(bound!), scheduled(bound)?.status]).toEqual(['large', 'True']);
  });

  it('places what waited while no scheduler ran, and goes on where a stopped one left off', async () => {
    for (let i = 0; i < 3; i++) await addNode(node(`n${i}`).build());
    for (let i = 0; i < 60; i++) await addPod(pod(`p${i}`).requests({ cpu: '100m' }));
    const stop = cluster.startScheduler();
    await cluster.podsUntil((all) => all.filter(isBound).length >= 5);
    await stop();
    cluster.startScheduler();
    const pods = await cluster.podsUntil((all) => all.length === 60 && all.every(isBound));
    for (const name of ['n0', 'n1', 'n2'])
      expect(pods.filter((object) => boundTo(object) === name).length).toBeLessThanOrEqual(40);
  });

  it('places one pod of a host port on each node, also out of a burst, and the next when the port is free', async () => {
    for (let i = 0; i < 3; i++) await addNode(node(`n${i}`).build());
    cluster.startScheduler();
    const ports = [{ containerPort: 80, hostPort: 8080 }];
    await Promise.all(Array.from({ length: 5 }, (_, i) => addPod(pod(`p${i}`).container('web', { image: 'web:1', ports }))));
    const isWaiting = (object: Pod) => scheduled(object)?.status === 'False';
    const pods = await cluster.podsUntil((all) => all.filter(isWaiting).length === 2 && all.filter(isBound).length === 3);
    expect(pods.filter(isBound).map(boundTo).sort()).toEqual(['n0', 'n1', 'n2']);
    expect(scheduled(pods.find(isWaiting))).toMatchObject({
      reason: 'Unschedulable',
      message: '0/3 nodes are available: 3 node(s) had host port 8080/TCP taken by another pod.',
    });
    const leaving = pods.find((object) => boundTo(object) === 'n1');
    await cluster.client.pods.delete({ namespace: 'default', name: leaving?.metadata?.name ?? '' }, { gracePeriodSeconds: 0 });
    const after = await cluster.podsUntil((all) => all.length === 4 && all.filter(isBound).length === 3);
    expect(after.filter(isBound).map(boundTo).sort()).toEqual(['n0', 'n1', 'n2']);
  });

  it('spreads a burst of pods evenly over three zones, and waits where one more would be too many', async () => {
    cluster.startScheduler();
    const zones = ['a', 'a', 'b', 'c'];
    for (const [i, zone] of zones.entries())
      await addNode(
        node(`n${i}`)
          .labels({ zone })
          .capacity({ pods: zone === 'c' ? '3' : '20' })
          .build(),
      );
    const labelSelector = { matchLabels: { app: 'web' } };
    const constraint = { topologyKey: 'zone', maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule', labelSelector };
    const web = (i: number) =>
      pod(`web-${i}`)
        .labels({ app: 'web' })
        .spec({ topologySpreadConstraints: [constraint] });
    await Promise.all(Array.from({ length: 12 }, (_, i) => addPod(web(i))));
    const isSettled = (object: Pod) => isBound(object) || scheduled(object)?.status === 'False';
    const pods = await cluster.podsUntil((all) => all.length === 12 && all.every(isSettled));
    const zoneOf = (object: Pod) => zones[Number(boundTo(object).slice(1))];
    const counts = zones.slice(1).map((zone) => pods.filter((object) => isBound(object) && zoneOf(object) === zone).length);
    // Zone c is full with 3, so that no other may have more than 4.
    expect(counts).toEqual([4, 4, 3]);
    expect(scheduled(pods.find((object) => !isBound(object)))?.message).toBe(
      "0/4 nodes are available: 3 node(s) didn't match pod topology spread constraints, 1 too many pods.",
    );
  });

  it('keeps pods that avoid each other on machines of their own, out of a burst too, and places the next when one leaves', async () => {
    for (let i = 0; i < 3; i++) await addNode(node(`n${i}`).build());
    cluster.startScheduler();
    const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'db' } } };
    const db = (i: number) =>
      pod(`db-${i}`)
        .labels({ app: 'db' })
        .spec({ affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } });
    await Promise.all(Array.from({ length: 4 }, (_, i) => addPod(db(i))));
    const isWaiting = (object: Pod) => scheduled(object)?.status === 'False';
    const pods = await cluster.podsUntil((all) => all.filter(isBound).length === 3 && all.some(isWaiting));
    expect(pods.filter(isBound).map(boundTo).sort()).toEqual(['n0', 'n1', 'n2']);
    expect(scheduled(pods.find(isWaiting))?.message).toBe(
      "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules.",
    );
    const leaving = pods.find((object) => boundTo(object) === 'n1')?.metadata?.name ?? '';
    await cluster.client.pods.delete({ namespace: 'default', name: leaving }, { gracePeriodSeconds: 0 });
    const after = await cluster.podsUntil((all) => all.length === 3 && all.every(isBound));
    expect(after.map(boundTo).sort()).toEqual(['n0', 'n1', 'n2']);
  });

  it('places a pod beside one that it requires, once that is there, in a namespace that a selector finds', async () => {
    for (const [i, zone] of ['a', 'b', 'b'].entries()) await addNode(node(`n${i}`).labels({ zone }).build());
    cluster.startScheduler();
    await cluster.client.namespaces.create({ metadata: { name: 'data', labels: { team: 'red' } } });
    const term = { topologyKey: 'zone', labelSelector: {}, namespaceSelector: { matchLabels: { team: 'red' } } };
    await addPod(pod('web').spec({ affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } }));
    const [waiting] = await cluster.podsUntil(([web]) => scheduled(web)?.status === 'False');
    expect(scheduled(waiting)?.message).toBe("0/3 nodes are available: 3 node(s) didn't match pod affinity rules.");
    await addPod(pod('db').namespace('data').nodeSelector({ 'kubernetes.io/hostname': 'n1' }));
    const [placed] = await cluster.podsUntil(([web]) => web !== undefined && isBound(web));
    expect(['n1', 'n2']).toContain(boundTo(placed!));
  });

  it('leaves a pod alone until its last scheduling gate is removed, and says so', async () => {
    cluster.startScheduler();
    await addNode(node('n1').build());
    await addPod(pod('gated').spec({ schedulingGates: [{ name: 'example.com/a' }, { name: 'example.com/b' }] }));
    await addPod(pod('free'));
    await cluster.podsUntil((all) => all.some(isBound));
    const name = { namespace: 'default', name: 'gated' };
    const lift = async (gates: string[]) => {
      const held = await cluster.client.pods.get(name);
      await cluster.client.pods.update({
        ...held,
        spec: { ...held.spec, schedulingGates: gates.map((each) => ({ name: each })) },
      });
    };
    await lift(['example.com/b']);
    await expect(lift(['example.com/b', 'example.com/c'])).rejects.toThrow('gates can be removed, not added');
    expect(scheduled(await cluster.client.pods.get(name))).toMatchObject({ status: 'False', reason: 'SchedulingGated' });
    await lift([]);
    const pods = await cluster.podsUntil((all) => all.length === 2 && all.every(isBound));
    expect(pods.map((object) => scheduled(object)?.status)).toEqual(['True', 'True']);
  });

  it('never over-commits a node with two schedulers that want the same room', async () => {
    for (let i = 0; i < 2; i++) await addNode(node(`n${i}`).build());
    cluster.startScheduler('default-scheduler');
    cluster.startScheduler('other-scheduler');
    // Room for 4 each; 12 want it.
    await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        addPod(
          pod(`p${i}`)
            .requests({ cpu: '1' })
            .spec({ schedulerName: i % 2 === 0 ? 'default-scheduler' : 'other-scheduler' }),
        ),
      ),
    );
    const pods = await cluster.podsUntil(
      (all) => all.filter((object) => isBound(object) || scheduled(object)?.status === 'False').length === 12,
    );
    const settled = await cluster.podsUntil((all) => all.filter(isBound).length === 8);
    for (const name of ['n0', 'n1']) expect(settled.filter((object) => boundTo(object) === name)).toHaveLength(4);
    expect(pods).toHaveLength(12);
  });

  it('binds each pod once when two schedulers mind the same pods', async () => {
    for (let i = 0; i < 2; i++) await addNode(node(`n${i}`).build());
    cluster.startScheduler();
    cluster.startScheduler();
    await Promise.all(Array.from({ length: 30 }, (_, i) => addPod(pod(`p${i}`).requests({ cpu: '200m' }))));
    const pods = await cluster.podsUntil((all) => all.length === 30 && all.every(isBound));
    for (const name of ['n0', 'n1']) expect(pods.filter((object) => boundTo(object) === name).length).toBeLessThanOrEqual(20);
  });
});
