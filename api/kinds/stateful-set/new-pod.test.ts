import { describe, expect, it } from 'vitest';
import { statefulSetOf } from '../../../test/builders/stateful-set.ts';
import { newClaims, newPod } from './new-pod.ts';

const template = {
  metadata: { labels: { app: 'web' }, annotations: { a: 'b' } },
  spec: {
    containers: [{ name: 'c', image: 'i:1' }],
    volumes: [
      { name: 'data', volumeSource: {} },
      { name: 'tmp', volumeSource: {} },
    ],
  },
};
const claims = [
  {
    metadata: { name: 'data', labels: { tier: 'db', app: 'x' }, uid: 'no' },
    spec: { accessModes: ['ReadWriteOnce'] },
    status: {},
  },
];

describe('a pod of a StatefulSet', () => {
  const set = statefulSetOf({ template, volumeClaimTemplates: claims, serviceName: 'peers' });
  const pod = newPod(set, 2, { template, revision: 'web-abc' });

  it('has a name, a host name and labels of its own', () => {
    expect(pod.metadata).toEqual({
      namespace: 'a',
      name: 'web-2',
      labels: {
        app: 'web',
        'statefulset.kubernetes.io/pod-name': 'web-2',
        'apps.kubernetes.io/pod-index': '2',
        'controller-revision-hash': 'web-abc',
      },
      annotations: { a: 'b' },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: 's1', controller: true, blockOwnerDeletion: true },
      ],
    });
    expect(pod.spec).toMatchObject({ hostname: 'web-2', subdomain: 'peers' });
  });

  it('has its claims in place of volumes of the same name', () => {
    expect(pod.spec?.volumes).toEqual([
      { name: 'data', volumeSource: { persistentVolumeClaim: { claimName: 'data-web-2' } } },
      { name: 'tmp', volumeSource: {} },
    ]);
  });

  it('has no subdomain without a service', () => {
    expect(newPod(statefulSetOf(), 0, { template, revision: 'r' }).spec).not.toHaveProperty('subdomain');
  });
});

describe('the claims of a pod', () => {
  it('have the labels of template and selector, and nothing else that is not asked for', () => {
    expect(newClaims(statefulSetOf({ volumeClaimTemplates: claims }), 2)).toEqual([
      {
        metadata: { namespace: 'a', name: 'data-web-2', labels: { tier: 'db', app: 'web' } },
        spec: { accessModes: ['ReadWriteOnce'] },
      },
    ]);
  });

  it('belong to the set from the start when they go with it', () => {
    const policy = { whenDeleted: 'Delete', whenScaled: 'Retain' };
    const [claim] = newClaims(statefulSetOf({ volumeClaimTemplates: claims, persistentVolumeClaimRetentionPolicy: policy }), 0);
    expect(claim?.metadata?.ownerReferences).toMatchObject([{ kind: 'StatefulSet', uid: 's1', controller: true }]);
  });
});
