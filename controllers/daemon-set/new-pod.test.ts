import { describe, expect, it } from 'vitest';
import { daemonSetOf } from '../../test/builders/daemon-set.ts';
import { affinityTo, daemonTolerations, newPod, targetNode } from './new-pod.ts';

const required = (name: string) => ({
  nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }] }],
});
const words = (tolerations: ReturnType<typeof daemonTolerations>) => tolerations.map(({ key, effect }) => `${key}:${effect}`);

const usual = [
  'node.kubernetes.io/not-ready:NoExecute',
  'node.kubernetes.io/unreachable:NoExecute',
  'node.kubernetes.io/disk-pressure:NoSchedule',
  'node.kubernetes.io/memory-pressure:NoSchedule',
  'node.kubernetes.io/pid-pressure:NoSchedule',
  'node.kubernetes.io/unschedulable:NoSchedule',
];

describe('the tolerations of a pod', () => {
  it('are those of all pods of DaemonSets, after its own', () => {
    const own = { key: 'gpu', operator: 'Exists', effect: 'NoSchedule' };
    expect(words(daemonTolerations({ tolerations: [own] }))).toEqual(['gpu:NoSchedule', ...usual]);
  });

  it('include the missing network where it has that of the node', () => {
    const expected = [...usual, 'node.kubernetes.io/network-unavailable:NoSchedule'];
    expect(words(daemonTolerations({ hostNetwork: true }))).toEqual(expected);
  });

  it('replace one that says the same for a time only', () => {
    const key = 'node.kubernetes.io/not-ready';
    const tolerations = daemonTolerations({
      tolerations: [{ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 9 }],
    });
    expect(words(tolerations)).toEqual(usual);
    expect(tolerations[0]).not.toHaveProperty('tolerationSeconds');
  });
});

describe('a pod of a node', () => {
  it('has the labels of its revision, and is tied to the node', () => {
    const pod = newPod(daemonSetOf({ generation: 4 }), 'n7', 'abc');
    expect(pod.metadata).toMatchObject({
      generateName: 'log-',
      namespace: 'a',
      labels: { app: 'log', 'controller-revision-hash': 'abc', 'pod-template-generation': '4' },
      ownerReferences: [{ kind: 'DaemonSet', uid: 'd1', controller: true }],
    });
    expect(pod.spec?.affinity).toEqual({ nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required('n7') } });
    expect(targetNode(pod)).toBe('n7');
  });

  it('has no count of templates where the set has none', () => {
    const set = daemonSetOf();
    const { metadata } = newPod({ ...set, metadata: { ...set.metadata, annotations: {} } }, 'n1', 'abc');
    expect(metadata?.labels).not.toHaveProperty('pod-template-generation');
  });

  it('keeps what its affinity says besides', () => {
    const preferred = [{ weight: 1, preference: {} }];
    const affinity = {
      podAntiAffinity: {},
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [] }, {}] },
        preferredDuringSchedulingIgnoredDuringExecution: preferred,
      },
    };
    expect(affinityTo('n1', affinity)).toEqual({
      podAntiAffinity: {},
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: required('n1'),
        preferredDuringSchedulingIgnoredDuringExecution: preferred,
      },
    });
  });
});

describe('the node of a pod', () => {
  const tied = (values: string[], operator = 'In') => ({
    spec: {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator, values }] }],
          },
        },
      },
    },
  });
  it.each([
    ['it is bound to', { spec: { nodeName: 'n1', ...tied(['n2']).spec } }, 'n1'],
    ['it is tied to', tied(['n2']), 'n2'],
    ['nothing says', {}, undefined],
    ['is one of several', tied(['n1', 'n2']), undefined],
    ['is any other', tied(['n1'], 'NotIn'), undefined],
  ])('is the one that %s', (_, pod, node) => expect(targetNode(pod)).toBe(node));
});
