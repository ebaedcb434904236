import { describe, expect, it } from 'vitest';
import type { MetricSpec, MetricTarget, Pod } from '../../api/generated/types.ts';
import { proposeReplicas } from './metrics.ts';
import { podOf, usagesOf } from './test-pods.ts';
import type { PodUsages } from './usage.ts';

const percent = (averageUtilization: number): MetricTarget => ({ type: 'Utilization', averageUtilization });
const average = (string: string): MetricTarget => ({ type: 'AverageValue', averageValue: { string } });
const cpu = (target = percent(50)): MetricSpec => ({ type: 'Resource', resource: { name: 'cpu', target } });
const memory = (target: MetricTarget): MetricSpec => ({ type: 'Resource', resource: { name: 'memory', target } });
const ofContainer = (container: string, target = percent(50)): MetricSpec => ({
  type: 'ContainerResource',
  containerResource: { name: 'cpu', container, target },
});
const tolerances = { up: 0.1, down: 0.1 };
const propose = (metric: MetricSpec, pods: Pod[], usages: PodUsages, current = pods.length) =>
  proposeReplicas(metric, { namespace: 'default', pods, usages, current, tolerances });
const named = (count: number, parts = {}) => Array.from({ length: count }, (_, i) => podOf(`p${i}`, parts));
const using = (...amounts: string[]) => usagesOf(Object.fromEntries(amounts.map((amount, i) => [`p${i}`, { cpu: amount }])));

describe('a metric wants', () => {
  it.each<[string, MetricSpec, Pod[], PodUsages, number]>([
    ['twice the pods at twice the target', cpu(), named(2), using('1', '1'), 4],
    ['half the pods at half the target', cpu(), named(4), using('250m', '250m', '250m', '250m'), 2],
    ['a part of a pod as a whole one', cpu(), named(2), using('700m', '600m'), 3],
    ['what there is a tenth above the target', cpu(), named(2), using('550m', '550m'), 2],
    ['what there is a tenth below the target', cpu(), named(4), using('450m', '450m', '450m', '450m'), 4],
    ['one more just beyond the tolerance', cpu(), named(2), using('560m', '560m'), 3],
    ['nothing of pods that use nothing', cpu(), named(2), using('0', '0'), 0],
    ['as many as share an average', cpu(average('500m')), named(2), using('1', '1'), 4],
    [
      'as many as share the memory',
      memory(average('100Mi')),
      named(2),
      usagesOf({ p0: { memory: '150Mi' }, p1: { memory: '150Mi' } }),
      3,
    ],
    ['the same by one container', ofContainer('c'), named(2), using('1', '1'), 4],
    ['fewer pods for missing figures, which count as nothing when it grows', cpu(), named(4), using('1', '1'), 4],
    ['some more when it grows in spite of missing figures', cpu(), named(3), using('1', '1'), 4],
    ['what there is when missing figures count as all that is requested', cpu(), named(3), using('100m', '100m'), 3],
    ['fewer when it shrinks in spite of missing figures', cpu(percent(90)), named(4), using('100m', '100m', '100m'), 2],
    ['what there is when missing figures are taken to be the average', cpu(average('1')), named(3), using('900m', '850m'), 3],
    [
      'no more for pods that are still to be ready',
      cpu(),
      [...named(2), podOf('new', { phase: 'Pending' }), podOf('newer', { phase: 'Pending' })],
      using('1', '1'),
      4,
    ],
    [
      'what the ready pods need when it shrinks',
      cpu(),
      [...named(2), podOf('new', { phase: 'Pending' })],
      using('250m', '250m'),
      1,
    ],
    ['nothing for pods that leave', cpu(), [...named(2), podOf('old', { isLeaving: true })], using('500m', '500m'), 3],
    ['nothing for pods that failed', cpu(), [...named(2), podOf('old', { phase: 'Failed' })], using('1', '1'), 4],
  ])('%s', (_title, metric, pods, usages, replicas) => {
    expect(propose(metric, pods, usages)).toMatchObject({ replicas });
  });
});

describe('the CPU of a pod', () => {
  it.each<[string, Parameters<typeof podOf>[1], boolean]>([
    ['counts when it has long been ready', {}, true],
    ['does not count without the condition Ready', { ready: 'none' }, false],
    ['does not count while it starts and is not ready', { startedAgo: 60, ready: 'False' }, false],
    ['does not count when it became ready within the window', { startedAgo: 60, changedAgo: 10 }, false],
    ['counts when it became ready before the window', { startedAgo: 60, changedAgo: 20 }, true],
    ['counts when it is unready now but was ready', { ready: 'False', changedAgo: 60 }, true],
    ['does not count when it was never ready', { ready: 'False', startedAgo: 3_600, changedAgo: 3_595 }, false],
  ])('%s', (_title, parts, counts) => {
    const made = propose(cpu(), [podOf('p0'), podOf('p1', parts)], using('500m', '1'));
    // The one alone is at its target; both together are at 75 %.
    expect(made).toMatchObject({ replicas: counts ? 3 : 2 });
  });

  it('is not looked at for memory, which does not fall after the start', () => {
    const usages = usagesOf({ p0: { memory: '1Gi' }, p1: { memory: '1Gi' } });
    const pods = [podOf('p0'), podOf('p1', { startedAgo: 10, ready: 'False' })];
    expect(propose(memory(percent(50)), pods, usages)).toMatchObject({ replicas: 4 });
  });
});

it('says what the pods use, on average and in percent', () => {
  expect(propose(cpu(), named(2), using('300m', '400m'))).toMatchObject({
    name: 'cpu resource utilization (percentage of request)',
    status: {
      type: 'Resource',
      resource: { name: 'cpu', current: { averageUtilization: 35, averageValue: { string: '350m' } } },
    },
  });
  expect(propose(cpu(average('1')), named(2), using('1', '3'))).toMatchObject({
    name: 'cpu resource',
    status: { type: 'Resource', resource: { name: 'cpu', current: { averageValue: { string: '2' } } } },
  });
  expect(propose(ofContainer('c'), named(1), using('500m'))).toMatchObject({
    name: 'cpu container resource utilization (percentage of request)',
    status: { type: 'ContainerResource', containerResource: { name: 'cpu', container: 'c' } },
  });
});

describe('a metric cannot be told', () => {
  const noRequests = [podOf('p0', { requests: {} })];
  it.each<[string, MetricSpec, Pod[], PodUsages, string, string]>([
    [
      'without any figure',
      cpu(),
      named(1),
      new Map(),
      'FailedGetResourceMetric',
      'failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from resource metrics API',
    ],
    [
      'without requests',
      cpu(),
      noRequests,
      using('1'),
      'FailedGetResourceMetric',
      'failed to get cpu utilization: missing request for cpu in container c of Pod p0',
    ],
    [
      'while no pod is ready',
      cpu(),
      [podOf('p0', { phase: 'Pending' })],
      using('1'),
      'FailedGetResourceMetric',
      'failed to get cpu utilization: did not receive metrics for targeted pods (pods might be unready)',
    ],
    [
      'of a container that is not there',
      ofContainer('x'),
      named(1),
      using('1'),
      'FailedGetContainerResourceMetric',
      'failed to get cpu utilization: unable to get metrics for resource cpu: container x not present in metrics for pod default/p0',
    ],
    [
      'of pods, which nothing measures',
      { type: 'Pods', pods: { metric: { name: 'rps' }, target: average('1') } },
      named(1),
      using('1'),
      'FailedGetPodsMetric',
      'unable to get metric rps: unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered',
    ],
    [
      'of an object',
      { type: 'Object', object: { metric: { name: 'rps' }, target: average('1') } },
      named(1),
      using('1'),
      'FailedGetObjectMetric',
      'unable to get metric rps: unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered',
    ],
    [
      'from outside',
      { type: 'External', external: { metric: { name: 'queue' }, target: average('1') } },
      named(1),
      using('1'),
      'FailedGetExternalMetric',
      'unable to get external metric default/queue: unable to fetch metrics from external metrics API: no external metrics API (external.metrics.k8s.io) registered',
    ],
  ])('%s', (_title, metric, pods, usages, reason, message) => {
    expect(propose(metric, pods, usages)).toMatchObject({ failure: { reason, message } });
  });
});
