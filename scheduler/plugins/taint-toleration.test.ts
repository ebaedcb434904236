import { describe, expect, it } from 'vitest';
import type { Toleration } from '../../api/generated/types.ts';
import { node, pod } from '../../test/builders/index.ts';
import { judge } from '../../test/builders/judge.ts';
import { podInfo } from '../framework/pod-info.ts';
import { taintToleration } from './taint-toleration.ts';

const plain = node('plain').build();
const gpu = node('gpu').taint('kind', 'NoSchedule', 'gpu').build();
const rejected = 'node(s) had untolerated taint {kind: gpu}';

describe('TaintToleration', () => {
  it.each<[string, Toleration, string]>([
    ['key, value and effect', { key: 'kind', operator: 'Equal', value: 'gpu', effect: 'NoSchedule' }, 'passes'],
    ['key and value without an operator', { key: 'kind', value: 'gpu' }, 'passes'],
    ['key with Exists', { key: 'kind', operator: 'Exists' }, 'passes'],
    ['everything', { operator: 'Exists' }, 'passes'],
    ['another value', { key: 'kind', operator: 'Equal', value: 'cpu' }, rejected],
    ['another key', { key: 'other', operator: 'Exists' }, rejected],
    ['another effect', { key: 'kind', operator: 'Exists', effect: 'NoExecute' }, rejected],
  ])('judges a pod that tolerates %s', (_, toleration, expected) => {
    const tolerant = pod('p').toleration(toleration).build();
    expect(judge(taintToleration, { pod: tolerant, nodes: [plain, gpu] }).filter).toEqual({ plain: 'passes', gpu: expected });
  });

  it.each([
    ['NoSchedule', 'node(s) had untolerated taint {k}'],
    ['NoExecute', 'node(s) had untolerated taint {k}'],
    ['PreferNoSchedule', 'passes'],
  ] as const)('treats the effect %s as Kubernetes does', (effect, expected) => {
    const tainted = node('n').taint('k', effect).build();
    expect(judge(taintToleration, { pod: pod('p').build(), nodes: [tainted] }).filter.n).toBe(expected);
  });

  it('prefers nodes with fewer untolerated PreferNoSchedule taints', () => {
    const one = node('one').taint('a', 'PreferNoSchedule').build();
    const two = node('two').taint('a', 'PreferNoSchedule').taint('b', 'PreferNoSchedule').build();
    expect(judge(taintToleration, { pod: pod('p').build(), nodes: [plain, one, two] }).scores).toEqual({
      plain: 100,
      one: 50,
      two: 0,
    });
    const tolerant = pod('p').toleration({ key: 'b', operator: 'Exists' }).build();
    expect(judge(taintToleration, { pod: tolerant, nodes: [plain, one, two] }).scores).toEqual({ plain: 100, one: 0, two: 0 });
  });

  it('does not score when no node has such taints', () => {
    expect(judge(taintToleration, { pod: pod('p').build(), nodes: [plain, gpu] }).scores).toEqual({});
  });

  it('wakes only for a node whose taints the pod tolerates', () => {
    const helps = (built = node('n')) =>
      taintToleration.helps?.(podInfo(pod('p').build()), { kind: 'node/taints', node: built.build() });
    expect([helps(), helps(node('n').taint('k', 'NoExecute'))]).toEqual([true, false]);
  });
});
