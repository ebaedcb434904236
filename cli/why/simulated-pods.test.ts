import { describe, expect, it } from 'vitest';
import { kindNamed } from '../../api/kinds/index.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { claimsOf } from '../../api/kinds/storage.ts';
import { simulatedPods } from './simulated-pods.ts';

const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'app', image: 'web' }] } };
const metadata = { namespace: 'shop', name: 'web' };
const namesOf = (kind: Parameters<typeof kindNamed>[0], object: ApiObject) =>
  simulatedPods(kindNamed(kind) as never, object)?.pods.map((pod) => pod.metadata?.name);

describe('the pods of a manifest', () => {
  it('are the Pod itself', () => {
    const pod = { metadata, spec: template.spec };
    expect(simulatedPods(kindNamed('Pod') as never, pod)).toEqual({ pods: [pod], claims: [] });
  });

  it.each([
    ['a Deployment with replicas', 'Deployment', { replicas: 2, template }, ['web-1', 'web-2']],
    ['a ReplicaSet that says no number', 'ReplicaSet', { template }, ['web-1']],
    ['a Deployment of none', 'Deployment', { replicas: 0, template }, []],
    ['a StatefulSet, by ordinal', 'StatefulSet', { replicas: 2, ordinals: { start: 3 }, template }, ['web-3', 'web-4']],
    ['a Job, as many as run at once', 'Job', { parallelism: 5, completions: 2, template }, ['web-1', 'web-2']],
    ['a CronJob, of one run', 'CronJob', { jobTemplate: { spec: { template } } }, ['web-1']],
  ] as const)('are those of %s', (_, kind, spec, names) => {
    expect(namesOf(kind, { metadata, spec } as ApiObject)).toEqual(names);
  });

  it('have the labels and the spec of the template, in the namespace of the workload', () => {
    const [pod] = simulatedPods(kindNamed('Deployment') as never, { metadata, spec: { template } } as ApiObject)?.pods ?? [];
    expect(pod).toEqual({ metadata: { labels: { app: 'web' }, namespace: 'shop', name: 'web-1' }, spec: template.spec });
  });

  it('of a StatefulSet use the claims that it makes', () => {
    const claim = { metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'] } };
    const set = { metadata, spec: { template, volumeClaimTemplates: [claim] } } as ApiObject;
    const { pods, claims } = simulatedPods(kindNamed('StatefulSet') as never, set)!;
    expect(claimsOf(pods[0]!)).toEqual(['data-web-0']);
    expect(claims).toMatchObject([{ ...claim, metadata: { name: 'data-web-0', namespace: 'shop' } }]);
  });

  it.each(['DaemonSet', 'ConfigMap', 'Service'] as const)('are not told of a %s', (kind) => {
    expect(simulatedPods(kindNamed(kind) as never, { metadata, spec: { template } } as ApiObject)).toBeUndefined();
  });
});
