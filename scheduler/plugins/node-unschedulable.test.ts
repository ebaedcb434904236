import { describe, expect, it } from 'vitest';
import { node, pod } from '../../test/builders/index.ts';
import { judge } from '../../test/builders/judge.ts';
import { podInfo } from '../framework/pod-info.ts';
import { nodeUnschedulable } from './node-unschedulable.ts';

const nodes = [node('open').build(), node('cordoned').unschedulable().build()];
const key = 'node.kubernetes.io/unschedulable';

describe('NodeUnschedulable', () => {
  it('keeps pods off a cordoned node', () => {
    expect(judge(nodeUnschedulable, { pod: pod('p').build(), nodes }).filter).toEqual({
      open: 'passes',
      cordoned: 'node(s) were unschedulable',
    });
  });

  it.each([
    ['the taint by key', { key, operator: 'Exists' }, 'passes'],
    ['everything', { operator: 'Exists' }, 'passes'],
    ['the taint with another effect', { key, operator: 'Exists', effect: 'NoExecute' }, 'node(s) were unschedulable'],
  ])('judges a pod that tolerates %s', (_, toleration, expected) => {
    expect(judge(nodeUnschedulable, { pod: pod('p').toleration(toleration).build(), nodes }).filter.cordoned).toBe(expected);
  });

  it('wakes for a node that is not cordoned any more, and not for another change of a cordoned one', () => {
    const helps = (built = node('n')) =>
      nodeUnschedulable.helps?.(podInfo(pod('p').build()), { kind: 'node/taints', node: built.build() });
    expect([helps(), helps(node('n').unschedulable())]).toEqual([true, false]);
  });
});
