import { describe, expect, it } from 'vitest';
import type { PersistentVolumeClaim, Pod, Quantity, Service } from '../../generated/types.ts';
import { kindNamed, kinds } from '../index.ts';
import { concerns, countName, isCounted } from './quota-names.ts';
import { quotaShare } from './quota-share.ts';

const now = 1_000_000;
const q = (texts: Record<string, string>): Record<string, Quantity> =>
  Object.fromEntries(Object.entries(texts).map(([name, string]) => [name, { string }]));
const amountsOf = (pod: Pod) => quotaShare(kindNamed('Pod'), pod, now).amounts;
const container = (requests: Record<string, string>, limits: Record<string, string> = {}) => ({
  name: 'c',
  resources: { requests: q(requests), limits: q(limits) },
});

describe('the share of a pod', () => {
  const pod: Pod = {
    spec: {
      overhead: q({ cpu: '50m', memory: '1Mi' }),
      containers: [
        container({ cpu: '100m', memory: '64Mi', 'example.com/gpu': '1' }, { cpu: '1' }),
        container({ cpu: '200m', 'hugepages-2Mi': '4Mi' }, { 'ephemeral-storage': '1Gi' }),
      ],
      initContainers: [container({ cpu: '1', 'ephemeral-storage': '2Gi' }, { memory: '1Gi' })],
    },
  };

  it('is what its containers ask for, or an init container if that is more, with the overhead', () => {
    expect(amountsOf(pod)).toEqual({
      'count/pods': 1,
      pods: 1,
      cpu: 1_050,
      'requests.cpu': 1_050,
      memory: 65 * 1024 ** 2,
      'requests.memory': 65 * 1024 ** 2,
      'ephemeral-storage': 2 * 1024 ** 3,
      'requests.ephemeral-storage': 2 * 1024 ** 3,
      'requests.example.com/gpu': 1,
      'hugepages-2Mi': 4 * 1024 ** 2,
      'requests.hugepages-2Mi': 4 * 1024 ** 2,
      'limits.cpu': 1_050,
      'limits.memory': 1025 * 1024 ** 2,
      'limits.ephemeral-storage': 1024 ** 3,
    });
  });

  it.each<[string, Pod]>([
    ['has succeeded', { ...pod, status: { phase: 'Succeeded' } }],
    ['has failed', { ...pod, status: { phase: 'Failed' } }],
    ['should have gone long ago', { ...pod, metadata: { deletionTimestamp: { seconds: 960 }, deletionGracePeriodSeconds: 30 } }],
  ])('is that of an object alone when it %s', (_title, ended) => expect(amountsOf(ended)).toEqual({ 'count/pods': 1 }));

  it('ends by time alone while the pod is on its way out', () => {
    const going = { ...pod, metadata: { deletionTimestamp: { seconds: 980 }, deletionGracePeriodSeconds: 30 } };
    expect(quotaShare(kindNamed('Pod'), going, now)).toMatchObject({ amounts: { pods: 1 }, until: 1_010_000 });
  });

  it('is what a resize has given while it is more than what is wanted', () => {
    const status = { containerStatuses: [{ name: 'c', allocatedResources: q({ cpu: '500m' }) }] };
    const resized = { spec: { containers: [container({ cpu: '100m' })] }, status };
    expect(amountsOf(resized)['requests.cpu']).toBe(500);
  });
});

it.each<[string, Service, Record<string, number>]>([
  [
    'inside the cluster',
    { spec: { type: 'ClusterIP', ports: [{ port: 1 }] } },
    { 'services.nodeports': 0, 'services.loadbalancers': 0 },
  ],
  [
    'on the nodes',
    { spec: { type: 'NodePort', ports: [{ port: 1 }, { port: 2 }] } },
    { 'services.nodeports': 2, 'services.loadbalancers': 0 },
  ],
  [
    'behind a load balancer',
    { spec: { type: 'LoadBalancer', ports: [{ port: 1 }] } },
    { 'services.nodeports': 1, 'services.loadbalancers': 1 },
  ],
  [
    'behind a load balancer without ports on the nodes but one',
    { spec: { type: 'LoadBalancer', ports: [{ port: 1, nodePort: 30_000 }, { port: 2 }], allocateLoadBalancerNodePorts: false } },
    { 'services.nodeports': 1, 'services.loadbalancers': 1 },
  ],
])('a service %s takes its ports', (_title, service, amounts) => {
  expect(quotaShare(kindNamed('Service'), service, now).amounts).toEqual({ 'count/services': 1, services: 1, ...amounts });
});

it('a claim takes its storage, of its class as well, and the more while it grows', () => {
  const claim: PersistentVolumeClaim = {
    spec: { storageClassName: 'gold', resources: { requests: q({ storage: '1Gi' }) }, volumeAttributesClassName: 'fast' },
    status: { allocatedResources: q({ storage: '2Gi' }), currentVolumeAttributesClassName: 'slow' },
  };
  expect(quotaShare(kindNamed('PersistentVolumeClaim'), claim, now)).toEqual({
    amounts: {
      'count/persistentvolumeclaims': 1,
      persistentvolumeclaims: 1,
      'requests.storage': 2 * 1024 ** 3,
      'gold.storageclass.storage.k8s.io/persistentvolumeclaims': 1,
      'gold.storageclass.storage.k8s.io/requests.storage': 2 * 1024 ** 3,
    },
    facts: { isPod: false, attributesClasses: ['fast', 'slow'] },
  });
});

it('every kind in namespaces is counted, but for events', () => {
  for (const kind of kinds.filter(({ namespaced }) => namespaced)) {
    expect(concerns(kind, countName(kind))).toBe(kind.kind !== 'Event');
    if (isCounted(kind)) expect(quotaShare(kind, {}, now).amounts[countName(kind)]).toBe(1);
  }
  expect(countName(kindNamed('Deployment'))).toBe('count/deployments.apps');
  expect(quotaShare(kindNamed('Secret'), {}, now).amounts).toEqual({ 'count/secrets': 1, secrets: 1 });
});

it.each([
  ['Pod', 'requests.cpu', true],
  ['Pod', 'requests.hugepages-1Gi', true],
  ['Pod', 'requests.example.com/gpu', true],
  ['Pod', 'requests.storage', false],
  ['Pod', 'secrets', false],
  ['Service', 'services.nodeports', true],
  ['PersistentVolumeClaim', 'gold.storageclass.storage.k8s.io/requests.storage', true],
  ['PersistentVolumeClaim', 'requests.storage', true],
  ['ConfigMap', 'configmaps', true],
  ['Job', 'jobs', false],
  ['Job', 'count/jobs.batch', true],
  ['Node', 'count/nodes', false],
] as const)('a %s and %s in a quota: %s', (kind, name, isConcerned) => {
  expect(concerns(kindNamed(kind), name)).toBe(isConcerned);
});
