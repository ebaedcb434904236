import { describe, expect, it } from 'vitest';
import type { ObjectMeta, OwnerReference } from '../../api/generated/types.ts';
import { decideClaims } from './claims.ts';

const owner = { metadata: { name: 'web', uid: 'u1' } };
const selector = { matchLabels: { app: 'web' } };
const by = (uid: string, controller = true): OwnerReference => ({ uid, controller, kind: 'ReplicaSet', name: 'x' });
const deleted = { deletionTimestamp: { seconds: 1 } };

function claim(metadata: ObjectMeta, from: { metadata?: ObjectMeta } = owner): string {
  const { owned, adopt, release } = decideClaims(from, selector, [{ metadata }]);
  return [owned.length && 'owned', adopt.length && 'adopted', release.length && 'released'].filter(Boolean).join() || 'left';
}

describe('decideClaims', () => {
  it.each<[string, ObjectMeta, string]>([
    ['keeps its own object that matches', { labels: { app: 'web' }, ownerReferences: [by('u1')] }, 'owned'],
    ['keeps its own object that is being deleted', { labels: { app: 'web' }, ownerReferences: [by('u1')], ...deleted }, 'owned'],
    ['releases its own object that matches no more', { labels: { app: 'x' }, ownerReferences: [by('u1')] }, 'released'],
    ['leaves what another controls', { labels: { app: 'web' }, ownerReferences: [by('u2')] }, 'left'],
    ['adopts what matches and has no controller', { labels: { app: 'web' } }, 'adopted'],
    [
      'adopts what has owners, none of which controls it',
      { labels: { app: 'web' }, ownerReferences: [by('u2', false)] },
      'adopted',
    ],
    ['leaves what is being deleted', { labels: { app: 'web' }, ...deleted }, 'left'],
    ['leaves what does not match', { labels: { app: 'x' } }, 'left'],
  ])('%s', (_, metadata, outcome) => expect(claim(metadata)).toBe(outcome));

  it.each<[string, ObjectMeta, string]>([
    ['adopts nothing', { labels: { app: 'web' } }, 'left'],
    ['releases nothing', { labels: { app: 'x' }, ownerReferences: [by('u1')] }, 'left'],
    ['keeps what is its own', { labels: { app: 'web' }, ownerReferences: [by('u1')] }, 'owned'],
  ])('%s for an owner that is being deleted', (_, metadata, outcome) =>
    expect(claim(metadata, { metadata: { ...owner.metadata, ...deleted } })).toBe(outcome),
  );

  it('claims nothing without a selector', () =>
    expect(decideClaims(owner, undefined, [{ metadata: { labels: { app: 'web' } } }])).toEqual({
      owned: [],
      adopt: [],
      release: [],
    }));
});
