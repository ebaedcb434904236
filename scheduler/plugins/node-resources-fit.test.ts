import { describe, expect, it } from 'vitest';
import { node, pod } from '../../test/builders/index.ts';
import { judge } from '../../test/builders/judge.ts';
import { podInfo } from '../framework/pod-info.ts';
import { nodeResourcesFit } from './node-resources-fit.ts';

// 4 CPU, 8 GiB, 110 pods; 3 CPU and 6 GiB are taken.
const half = node('n').allocatable({ 'ephemeral-storage': '10Gi', 'example.com/gpu': '2' }).build();
const taken = pod('old').requests({ cpu: '3', memory: '6Gi', 'example.com/gpu': '1' }).on('n').build();

describe('NodeResourcesFit', () => {
  it.each<[Record<string, string>, string, string]>([
    [{ cpu: '1', memory: '2Gi' }, 'passes', ''],
    [{ cpu: '1001m' }, 'insufficient cpu', 'needs 1001m CPU, 1 free'],
    [{ memory: '2049Mi' }, 'insufficient memory', 'needs 2049Mi memory, 2Gi free'],
    [{ 'ephemeral-storage': '11Gi' }, 'insufficient ephemeral-storage', 'needs 11Gi ephemeral-storage, 10Gi free'],
    [{ 'example.com/gpu': '1' }, 'passes', ''],
    [{ 'example.com/gpu': '2' }, 'insufficient example.com/gpu', 'needs 2 example.com/gpu, 1 free'],
    [{ 'example.com/tpu': '1' }, 'insufficient example.com/tpu', 'needs 1 example.com/tpu, 0 free'],
  ])('judges a pod that requests %j', (requests, reason, why) => {
    const judged = judge(nodeResourcesFit, { pod: pod('p').requests(requests).build(), nodes: [half], pods: [taken] });
    expect([judged.filter.n, judged.why.n]).toEqual([reason, why]);
  });

  it('says that preemption cannot help when the node would be too small empty', () => {
    const code = (cpu: string) =>
      judge(nodeResourcesFit, { pod: pod('p').requests({ cpu }).build(), nodes: [half], pods: [taken] }).codes.n;
    expect([code('2'), code('5')]).toEqual(['unschedulable', 'unresolvable']);
  });

  it('counts pods against the number that the node holds, also those that request nothing', () => {
    const small = node('n').capacity({ pods: '1' }).build();
    const { filter, why } = judge(nodeResourcesFit, {
      pod: pod('p').build(),
      nodes: [small],
      pods: [pod('old').on('n').build()],
    });
    expect([filter.n, why.n]).toEqual(['too many pods', 'holds 1 of at most 1 pods']);
  });

  it('does not look at resources that the pod does not request', () => {
    const full = pod('old').requests({ cpu: '4' }).on('n').build();
    expect(
      judge(nodeResourcesFit, { pod: pod('p').requests({ memory: '1Gi' }).build(), nodes: [half], pods: [full] }).filter.n,
    ).toBe('passes');
  });

  it('scores the free share of CPU and memory after the placement', () => {
    const asking = pod('p').requests({ cpu: '1', memory: '2Gi' }).build();
    const { scores } = judge(nodeResourcesFit, { pod: asking, nodes: [half, node('empty').build()], pods: [taken] });
    expect(scores).toEqual({ n: 0, empty: 75 });
  });

  it('takes pods without requests to use a little, so that they spread', () => {
    const scores = (pods: number) =>
      judge(nodeResourcesFit, {
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
    expect(nodeResourcesFit.helps?.(info, { kind: 'node/added', node: node('m').capacity({ cpu }).build() })).toBe(expected);
  });
});
