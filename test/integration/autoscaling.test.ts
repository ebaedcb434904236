import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Deployment, HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec, Pod } from '../../api/generated/types.ts';
import { timestamp } from '../../api/meta/time.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { startControllers } from './controllers-harness.ts';

let server: RunningServer;
let stopControllers: () => Promise<void>;
beforeAll(async () => {
  server = await startServer({ backend: 'memory' });
  stopControllers = await startControllers(server);
  await server.client.nodes.create({ metadata: { name: 'n1' } });
});
afterAll(async () => {
  await stopControllers();
  await server.stop();
  await server.remove();
});

const at = (name: string) => ({ namespace: 'default', name });

async function podsOf(app: string): Promise<Pod[]> {
  const { items } = await server.client.pods.list({ namespace: 'default', labelSelector: `app=${app}`, limit: 500 });
  return items.filter(({ metadata }) => !metadata?.deletionTimestamp);
}

/** A Deployment whose pods have run for an hour. */
async function runs(app: string, replicas: number): Promise<void> {
  const labels = { app };
  const containers = [{ name: 'c', image: 'i', resources: { requests: { cpu: { string: '100m' } } } }];
  const deployment: Deployment = {
    metadata: at(app),
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { nodeName: 'n1', containers } },
    },
  };
  await server.client.deployments.create(deployment);
  await expect.poll(async () => (await podsOf(app)).length, { timeout: 10_000 }).toBe(replicas);
  await haveRun(app);
}

/** Says of all pods of a Deployment that they have been ready for an hour. */
async function haveRun(app: string): Promise<void> {
  const anHourAgo = timestamp(new Date(Date.now() - 3_600_000));
  for (const pod of await podsOf(app)) {
    const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: anHourAgo }];
    const status = { ...pod.status, phase: 'Running', startTime: anHourAgo, conditions };
    await server.client.pods.updateStatus({ ...pod, status });
  }
}

/** What the node's agent says that each pod uses. */
async function measure(usage: Readonly<Record<string, string>>): Promise<void> {
  const { nodeMetrics } = server.client;
  const measured = await Promise.all(
    Object.entries(usage).map(async ([app, cpu]) =>
      (await podsOf(app)).map(({ metadata }) => ({
        uid: metadata?.uid ?? '',
        containers: [{ name: 'c', usage: { cpu: { string: cpu } } }],
      })),
    ),
  );
  const report = { timestamp: timestamp(new Date()), window: { seconds: 15 }, pods: measured.flat() };
  const known = await nodeMetrics.list({});
  if (known.items[0]) await nodeMetrics.update({ ...known.items[0], ...report });
  else await nodeMetrics.create({ metadata: { name: 'n1' }, ...report });
}

async function scale(name: string, spec: HorizontalPodAutoscalerSpec = {}, target = name): Promise<void> {
  const percent = { type: 'Utilization', averageUtilization: 50 };
  await server.client.horizontalPodAutoscalers.create({
    metadata: at(name),
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: target },
      maxReplicas: 10,
      metrics: [{ type: 'Resource', resource: { name: 'cpu', target: percent } }],
      ...spec,
    },
  });
}

const statusOf = async (name: string): Promise<HorizontalPodAutoscaler['status']> =>
  (await server.client.horizontalPodAutoscalers.get(at(name))).status;
const replicasOf = async (name: string) => (await server.client.deployments.get(at(name))).spec?.replicas;
const toldOf = async (name: string) =>
  (await server.client.events.list({ namespace: 'default', limit: 500 })).items
    .filter(({ involvedObject }) => involvedObject?.kind === 'HorizontalPodAutoscaler' && involvedObject.name === name)
    .map(({ reason, message }) => `${reason}: ${message}`);
const soon = { timeout: 10_000 };

test('a Deployment grows with the CPU that its pods use, and does not shrink within the window', async () => {
  await runs('busy', 2);
  await measure({ busy: '100m' });
  await scale('busy');
  await expect.poll(() => replicasOf('busy'), soon).toBe(4);
  await expect
    .poll(() => statusOf('busy'), soon)
    .toMatchObject({
      currentReplicas: 2,
      desiredReplicas: 4,
      lastScaleTime: {},
      currentMetrics: [{ resource: { name: 'cpu', current: { averageUtilization: 100, averageValue: { string: '100m' } } } }],
      conditions: [
        { type: 'AbleToScale', status: 'True', reason: 'SucceededRescale' },
        { type: 'ScalingActive', status: 'True', reason: 'ValidMetricFound' },
        { type: 'ScalingLimited', status: 'False', reason: 'DesiredWithinRange' },
      ],
    });
  await expect
    .poll(() => toldOf('busy'), soon)
    .toEqual(['SuccessfulRescale: New size: 4; reason: cpu resource utilization (percentage of request) above target']);
  // The pods that were added are taken to use nothing, and then it is quiet.
  await measure({ busy: '1m' });
  await server.client.horizontalPodAutoscalers.patch(at('busy'), { spec: { maxReplicas: 9 } });
  const stabilized = { type: 'AbleToScale', status: 'True', reason: 'ScaleDownStabilized' };
  await expect.poll(async () => (await statusOf('busy'))?.conditions, soon).toContainEqual(expect.objectContaining(stabilized));
  expect(await replicasOf('busy')).toBe(4);
}, 60_000);

test('a Deployment shrinks no faster than its policy lets it', async () => {
  await runs('quiet', 4);
  await measure({ quiet: '1m' });
  const policies = [{ type: 'Pods', value: 1, periodSeconds: 60 }];
  await scale('quiet', { behavior: { scaleDown: { stabilizationWindowSeconds: 0, policies } } });
  await expect.poll(() => replicasOf('quiet'), soon).toBe(3);
  await expect
    .poll(async () => (await statusOf('quiet'))?.conditions, soon)
    .toContainEqual(expect.objectContaining({ type: 'ScalingLimited', status: 'True', reason: 'ScaleDownLimit' }));
  // It is looked at again at once, and the policy still counts what was done before.
  await server.client.horizontalPodAutoscalers.patch(at('quiet'), { spec: { maxReplicas: 9 } });
  await expect.poll(async () => (await statusOf('quiet'))?.currentReplicas, soon).toBe(3);
  expect(await replicasOf('quiet')).toBe(3);
}, 60_000);

test('an autoscaler that cannot work says why', async () => {
  await runs('idle', 1);
  const conditionsOf = (name: string) => async () =>
    (await statusOf(name))?.conditions?.map(({ type, status, reason, message }) => `${type} ${status} ${reason}: ${message}`);
  const unable = "AbleToScale False FailedGetScale: the HPA controller was unable to get the target's current scale";
  await scale('missing', {}, 'nothing');
  await expect.poll(conditionsOf('missing'), soon).toEqual([`${unable}: deployments/scale.apps "nothing" not found`]);
  await scale('away', { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'nothing' } });
  await expect.poll(conditionsOf('away'), soon).toEqual([`${unable}: statefulsets.apps "nothing" not found`]);
  await scale('unknown', { scaleTargetRef: { apiVersion: 'a.b/v1', kind: 'Toy', name: 'nothing' } });
  await expect.poll(conditionsOf('unknown'), soon).toEqual([`${unable}: no matches for kind "Toy" in group "a.b"`]);
  await scale('unmeasured', {}, 'idle');
  await expect
    .poll(conditionsOf('unmeasured'), soon)
    .toContain(
      'ScalingActive False FailedGetResourceMetric: the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from resource metrics API',
    );
  await scale('second', {}, 'idle');
  await expect
    .poll(conditionsOf('second'), soon)
    .toContain(
      'ScalingActive False AmbiguousSelector: pods by selector app=idle are controlled by multiple HPAs: [default/second default/unmeasured]',
    );
  await runs('off', 0);
  await scale('off');
  await expect
    .poll(conditionsOf('off'), soon)
    .toContain('ScalingActive False ScalingDisabled: scaling is disabled since the replica count of the target is zero');
  const target = { type: 'AverageValue', averageValue: { string: '1' } };
  await runs('custom', 1);
  await scale('custom', { metrics: [{ type: 'Pods', pods: { metric: { name: 'rps' }, target } }] });
  await expect
    .poll(conditionsOf('custom'), soon)
    .toContainEqual(expect.stringContaining('ScalingActive False FailedGetPodsMetric'));
  await expect.poll(async () => (await toldOf('custom')).join('\n'), soon).toContain('FailedComputeMetricsReplicas');
}, 60_000);
