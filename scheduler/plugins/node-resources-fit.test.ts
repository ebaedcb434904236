import { describe, expect, it } from 'vitest';
import { node, pod } from '../../test/builders/index.ts';
import { judge } from '../../test/builders/judge.ts';
import { podInfo } from '../framework/pod-info.ts';
import type { ScoringStrategy } from '../framework/resource-scoring.ts';
import { type NodeResourcesFitArguments, nodeResourcesFit } from './node-resources-fit.ts';

// 4 CPU, 8 GiB, 110 pods; 3 CPU and 6 GiB are taken.
const half = node('n').allocatable({ 'ephemeral-storage': '10Gi', 'example.com/gpu': '2' }).build();
const taken = pod('old').requests({ cpu: '3', memory: '6Gi', 'example.com/gpu': '1' }).on('n').build();

describe('NodeResourcesFit', () => {
  it.each<[Record<string, string>, string, string]>([
    [{ cpu: '1', memory: '2Gi' }, 'passes', ''],
    [{ cpu: '1001m' }, 'insufficient cpu', 'needs 1.001 CPU, 1 free'],
    [{ memory: '2049Mi' }, 'insufficient memory', 'needs 2049Mi memory, 2048Mi free'],
    [{ 'ephemeral-storage': '11Gi' }, 'insufficient ephemeral-storage', 'needs 11Gi ephemeral-storage, the node has 10Gi in all'],
    [{ cpu: '5' }, 'insufficient cpu', 'needs 5 CPU, the node has 4 in all'],
    [{ 'example.com/gpu': '1' }, 'passes', ''],
    [{ 'example.com/gpu': '2' }, 'insufficient example.com/gpu', 'needs 2 example.com/gpu, 1 free'],
    [{ 'example.com/tpu': '1' }, 'insufficient example.com/tpu', 'needs 1 example.com/tpu, the node has none'],
  ])('judges a pod that requests %j', (requests, reason, why) => {
    const judged = judge(nodeResourcesFit(), { pod: pod('p').requests(requests).build(), nodes: [half], pods: [taken] });
    expect([judged.filter.n, judged.why.n]).toEqual([reason, why]);
  });

  it.each([
    [{ cpu: '2', memory: '4Gi' }, ['insufficient memory'], 'unschedulable'],
    [
      { cpu: '2', memory: '4Gi', 'example.com/gpu': '2' },
      ['insufficient memory', 'insufficient example.com/gpu'],
      'unschedulable',
    ],
    [{ cpu: '2', memory: '9Gi' }, ['insufficient memory'], 'unresolvable'],
    [{ cpu: '5', memory: '4Gi' }, ['insufficient memory'], 'unresolvable'],
  ])('tells everything that is short for %j, as Kubernetes does, and whether eviction helps', (requests, also, code) => {
    const judged = judge(nodeResourcesFit(), { pod: pod('p').requests(requests).build(), nodes: [half], pods: [taken] });
    expect([judged.filter.n, judged.also.n, judged.codes.n]).toEqual(['insufficient cpu', also, code]);
    const bigger = ['node/added', 'node/resources'];
    expect(judged.wakeOn.n).toEqual(code === 'unresolvable' ? bigger : [...bigger, 'pod/removed', 'pod/shrunk']);
  });

  it('says that preemption cannot help when the node would be too small empty', () => {
    const code = (cpu: string) =>
      judge(nodeResourcesFit(), { pod: pod('p').requests({ cpu }).build(), nodes: [half], pods: [taken] }).codes.n;
    expect([code('2'), code('5')]).toEqual(['unschedulable', 'unresolvable']);
  });

  it('waits for bigger nodes only, not for pods to leave, when the node would be too small empty', () => {
    const wakeOn = (cpu: string) =>
      judge(nodeResourcesFit(), { pod: pod('p').requests({ cpu }).build(), nodes: [half], pods: [taken] }).wakeOn.n;
    expect(wakeOn('2')).toEqual(['node/added', 'node/resources', 'pod/removed', 'pod/shrunk']);
    expect(wakeOn('5')).toEqual(['node/added', 'node/resources']);
  });

  it('counts pods against the number that the node holds, also those that request nothing', () => {
    const small = node('n').capacity({ pods: '1' }).build();
    const { filter, why } = judge(nodeResourcesFit(), {
      pod: pod('p').build(),
      nodes: [small],
      pods: [pod('old').on('n').build()],
    });
    expect([filter.n, why.n]).toEqual(['too many pods', 'holds 1 of at most 1 pods']);
  });

  it('does not look at resources that the pod does not request', () => {
    const full = pod('old').requests({ cpu: '4' }).on('n').build();
    expect(
      judge(nodeResourcesFit(), { pod: pod('p').requests({ memory: '1Gi' }).build(), nodes: [half], pods: [full] }).filter.n,
    ).toBe('passes');
  });

  it('scores the free share of CPU and memory after the placement', () => {
    const asking = pod('p').requests({ cpu: '1', memory: '2Gi' }).build();
    const { scores } = judge(nodeResourcesFit(), { pod: asking, nodes: [half, node('empty').build()], pods: [taken] });
    expect(scores).toEqual({ n: 0, empty: 75 });
  });

  it('takes pods without requests to use a little, so that they spread', () => {
    const scores = (pods: number) =>
      judge(nodeResourcesFit(), {
        pod: pod('p').build(),
        nodes: [half],
        pods: Array.from({ length: pods }, (_, i) => pod(`old-${i}`).on('n').build()),
      }).scores.n!;
    expect(scores(0)).toBeCloseTo(97.5, 0);
    expect(scores(10)).toBeLessThan(scores(0));
  });

  it.each([
    ['4', true],
    ['1', false],
  ])('wakes for a new node of %s CPU when the pod needs 2: %s', (cpu, expected) => {
    const info = podInfo(pod('p').requests({ cpu: '2' }).build());
    expect(nodeResourcesFit().helps?.(info, { kind: 'node/added', node: node('m').capacity({ cpu }).build() })).toBe(expected);
  });

  // Of a node with 4 CPU and 8 GiB, 3 CPU and 6 GiB are taken; of the empty one, nothing.
  const nodes = [half, node('empty').allocatable({ 'example.com/gpu': '0' }).build()];
  const scoresWith = (scoringStrategy: ScoringStrategy, requests: Record<string, string>) =>
    judge(nodeResourcesFit({ scoringStrategy }), { pod: pod('p').requests(requests).build(), nodes, pods: [taken] }).scores;
  const asks = { cpu: '1', memory: '1Gi' };
  const ratio = (...points: [number, number][]): ScoringStrategy => ({
    type: 'RequestedToCapacityRatio',
    resources: [{ name: 'cpu' }],
    requestedToCapacityRatio: { shape: points.map(([utilization, score]) => ({ utilization, score })) },
  });
  it.each<[string, ScoringStrategy, Record<string, string>, { n: number; empty: number }]>([
    ['least allocated', {}, asks, { n: 6.25, empty: 81.25 }],
    ['most allocated', { type: 'MostAllocated' }, asks, { n: 93.75, empty: 18.75 }],
    [
      'memory three times as much as CPU',
      { type: 'MostAllocated', resources: [{ name: 'cpu' }, { name: 'memory', weight: 3 }] },
      asks,
      { n: 90.625, empty: 15.625 },
    ],
    ['a line that rises', ratio([0, 0], [100, 10]), asks, { n: 100, empty: 25 }],
    ['a peak at half', ratio([0, 0], [50, 10], [100, 2]), asks, { n: 20, empty: 50 }],
    ['what stands before the first and after the last point', ratio([30, 4], [60, 8]), asks, { n: 80, empty: 40 }],
    [
      'an extended resource, of nodes that have it',
      { type: 'MostAllocated', resources: [{ name: 'example.com/gpu' }] },
      { 'example.com/gpu': '1' },
      { n: 100, empty: 0 },
    ],
    [
      'an extended resource that the pod does not ask for',
      { resources: [{ name: 'cpu' }, { name: 'example.com/gpu' }] },
      asks,
      { n: 0, empty: 75 },
    ],
  ])('scores by %s', (_, strategy, requests, scores) => {
    expect(scoresWith(strategy, requests)).toEqual(scores);
  });

  it('leaves what scores nothing out of the mean of a ratio, as Kubernetes does', () => {
    const strategy = { ...ratio([0, 0], [20, 0], [100, 10]), resources: [{ name: 'cpu' }, { name: 'memory' }] };
    // A quarter of the CPU scores (25 - 20) / 80, an eighth of the memory nothing.
    expect(scoresWith(strategy, asks).empty).toBeCloseTo(6.25, 9);
  });

  it('does not look at extended resources that it is told to ignore', () => {
    const wanting = pod('p').requests({ 'example.com/gpu': '5', 'example.com/tpu': '5', 'other.com/x': '1' }).build();
    const judged = (given: NodeResourcesFitArguments) => judge(nodeResourcesFit(given), { pod: wanting, nodes: [half] }).filter.n;
    expect(judged({ ignoredResources: ['example.com/gpu'], ignoredResourceGroups: ['other.com'] })).toBe(
      'insufficient example.com/tpu',
    );
    expect(judged({ ignoredResourceGroups: ['example.com', 'other.com'] })).toBe('passes');
  });
});
