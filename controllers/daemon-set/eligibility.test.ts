import { expect, it } from 'vitest';
import type { PodSpec } from '../../api/generated/types.ts';
import { daemonSetOf, nodeNamed } from '../../test/builders/daemon-set.ts';
import { type Eligibility, eligibilityOf } from './eligibility.ts';

const taint = (effect: string, key = 'x') => ({ key, effect });
const required = (key: string, operator: string, values: string[] = []) => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator, values }] }] },
  },
});
const plain = nodeNamed('n1');
const labelled = nodeNamed('n1', { labels: { disk: 'ssd' } });
const tainted = (...taints: ReturnType<typeof taint>[]) => nodeNamed('n1', { taints });

it.each<[string, PodSpec, typeof plain, Eligibility]>([
  ['a plain node', {}, plain, 'run'],
  ['a node with the label that is selected', { nodeSelector: { disk: 'ssd' } }, labelled, 'run'],
  ['a node without the label that is selected', { nodeSelector: { disk: 'ssd' } }, plain, 'leave'],
  ['a node that the affinity requires', { affinity: required('disk', 'In', ['ssd']) }, labelled, 'run'],
  ['a node that the affinity forbids', { affinity: required('disk', 'DoesNotExist') }, labelled, 'leave'],
  ['the node that the template names', { nodeName: 'n1' }, plain, 'run'],
  ['another node than the template names', { nodeName: 'n2' }, plain, 'leave'],
  ['a node with a NoSchedule taint', {}, tainted(taint('NoSchedule')), 'stay'],
  ['a node with a NoExecute taint', {}, tainted(taint('NoExecute')), 'leave'],
  ['a node with both', {}, tainted(taint('NoSchedule'), taint('NoExecute', 'y')), 'leave'],
  ['a node with a PreferNoSchedule taint', {}, tainted(taint('PreferNoSchedule')), 'run'],
  [
    'a node with a taint that is tolerated',
    { tolerations: [{ key: 'x', operator: 'Exists' }] },
    tainted(taint('NoExecute')),
    'run',
  ],
  ['a cordoned node', {}, tainted(taint('NoSchedule', 'node.kubernetes.io/unschedulable')), 'run'],
  ['a node under pressure', {}, tainted(taint('NoSchedule', 'node.kubernetes.io/memory-pressure')), 'run'],
  ['a lost node', {}, tainted(taint('NoExecute', 'node.kubernetes.io/unreachable')), 'run'],
  ['a node that is not ready', {}, tainted(taint('NoSchedule', 'node.kubernetes.io/not-ready')), 'stay'],
  ['a node without a network', {}, tainted(taint('NoSchedule', 'node.kubernetes.io/network-unavailable')), 'stay'],
  [
    'a node without a network, with pods that need none',
    { hostNetwork: true },
    tainted(taint('NoSchedule', 'node.kubernetes.io/network-unavailable')),
    'run',
  ],
])('%s', (_, pod, node, eligibility) => expect(eligibilityOf(daemonSetOf({ pod }))(node)).toBe(eligibility));
