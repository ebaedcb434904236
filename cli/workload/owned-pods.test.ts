import { expect, it } from 'vitest';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { podsOfDeployment } from './owned-pods.ts';

const revision = (number: string) => ({ 'deployment.kubernetes.io/revision': number });
const controlled = (uid: string) => [{ uid, controller: true }];
const template = (image: string, labels: JsonObject = { app: 'web' }): JsonObject => ({
  metadata: { labels },
  spec: { containers: [{ image }] },
});
const set = (name: string, image: string, number: string): JsonObject => ({
  metadata: { name, uid: name, annotations: revision(number), creationTimestamp: `2026-01-0${number}T00:00:00Z` },
  spec: { template: template(image, { app: 'web', 'pod-template-hash': name }) },
});
const pod = (name: string, owner: string): JsonObject => ({ metadata: { name, ownerReferences: controlled(owner) } });
const names = (objects: readonly JsonObject[]) => objects.map(({ metadata }) => (metadata as JsonObject).name);

const sets = [set('new', 'b', '2'), set('old', 'a', '1')];
const pods = [pod('p1', 'old'), pod('p2', 'new'), pod('other', 'elsewhere')];

it('finds the ReplicaSet of the present template by the template, whatever the label of its hash', () => {
  const deployment = { metadata: { annotations: revision('1') }, spec: { template: template('b') } };
  const found = podsOfDeployment(deployment, sets, pods);
  expect(names([found.newSet!])).toEqual(['new']);
  expect([names(found.sets), names(found.pods), names(found.current)]).toEqual([['old', 'new'], ['p1', 'p2'], ['p2']]);
});

it('finds it by the revision when an older version wrote another form of the template that the controller has seen', () => {
  const deployment = (observedGeneration: number) => ({
    metadata: { annotations: revision('2'), generation: 3 },
    spec: { template: template('b', { app: 'web', extra: 'default' }) },
    status: { observedGeneration },
  });
  expect(podsOfDeployment(deployment(3), sets, pods).newSet).toBe(sets[0]);
  expect(podsOfDeployment(deployment(2), sets, pods)).toMatchObject({ newSet: undefined, current: [] });
});
