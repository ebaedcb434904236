import { describe, expect, it } from 'vitest';
import { node, pod } from '../../test/builders/index.ts';
import { judge } from '../../test/builders/judge.ts';
import { nodeResourcesBalanced } from './node-resources-balanced.ts';

// 4 CPU, 8 GiB.
const n = node('n').build();
const scoreOf = (asked: Record<string, string>, taken: Record<string, string> = {}) =>
  judge(nodeResourcesBalanced, {
    pod: pod('p').requests(asked).build(),
    nodes: [n],
    pods: [pod('old').requests(taken).on('n').build()],
  }).scores.n;

describe('NodeResourcesBalanced', () => {
  it.each<[string, Record<string, string>, Record<string, string>, number]>([
    ['equal shares', { cpu: '1', memory: '2Gi' }, {}, 100],
    ['a quarter of the CPU and half of the memory', { cpu: '1', memory: '4Gi' }, {}, 87.5],
    ['a pod that evens out what is there', { cpu: '2', memory: '1Gi' }, { cpu: '1', memory: '5Gi' }, 100],
    ['all of the CPU and no memory', { cpu: '4' }, {}, 50],
    ['more than there is as all there is', { cpu: '4', memory: '8Gi' }, { cpu: '1' }, 100],
  ])('scores %s', (_, asked, taken, expected) => {
    expect(scoreOf(asked, taken)).toBeCloseTo(expected, 6);
  });

  it('prefers the node whose shares the pod brings together', () => {
    const { scores } = judge(nodeResourcesBalanced, {
      pod: pod('p').requests({ cpu: '1', memory: '512Mi' }).build(),
      nodes: [node('memory-taken').build(), node('cpu-taken').build()],
      pods: [
        pod('a').requests({ cpu: '500m', memory: '3Gi' }).on('memory-taken').build(),
        pod('b').requests({ cpu: '2', memory: '1Gi' }).on('cpu-taken').build(),
      ],
    });
    expect(scores['memory-taken']).toBeGreaterThan(scores['cpu-taken']!);
  });

  it('has no say about a pod that requests neither', () => {
    expect(scoreOf({})).toBeUndefined();
  });
});
