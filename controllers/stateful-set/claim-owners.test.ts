import { describe, expect, it } from 'vitest';
import type { OwnerReference } from '../../api/generated/types.ts';
import { claimNamed, podAt, statefulSetOf } from '../../test/builders/stateful-set.ts';
import { decideClaimOwners, goesWithEarlierPod, hasConflict } from './claim-owners.ts';

const bySet: OwnerReference = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  name: 'web',
  uid: 's1',
  controller: true,
  blockOwnerDeletion: true,
};
const byPod: OwnerReference = { ...bySet, apiVersion: 'v1', kind: 'Pod', name: 'web-1', uid: 'u1' };
const plain: OwnerReference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'c1' };
const foreign: OwnerReference = { ...plain, controller: true };
const earlierSet: OwnerReference = { ...bySet, uid: 's0' };
const earlierPod: OwnerReference = { ...byPod, uid: 'u0' };

interface Case {
  readonly deleted?: 'Retain' | 'Delete';
  readonly scaled?: 'Retain' | 'Delete';
  readonly isSurplus?: boolean;
  readonly has?: readonly OwnerReference[];
}

const of = ({ deleted = 'Retain', scaled = 'Retain', isSurplus = false, has = [] }: Case) => ({
  set: statefulSetOf({ persistentVolumeClaimRetentionPolicy: { whenDeleted: deleted, whenScaled: scaled } }),
  claim: claimNamed('data-web-1', { owners: has }),
  pod: podAt(1),
  isSurplus,
});

describe('the owners of a claim', () => {
  it.each<[string, Case, readonly OwnerReference[] | undefined]>([
    ['are none when it is to stay in any case', { has: [bySet] }, []],
    ['are left when they are as they should be', { deleted: 'Delete', has: [bySet] }, undefined],
    ['are the set when it goes with that', { deleted: 'Delete' }, [bySet]],
    ['are the set for a pod too many as well, when claims stay then', { deleted: 'Delete', isSurplus: true }, [bySet]],
    ['are none while the pod stays, when it goes with a pod too many', { scaled: 'Delete' }, undefined],
    ['are the pod when that is too many', { scaled: 'Delete', isSurplus: true }, [byPod]],
    [
      'are the pod instead of the set when that is too many',
      { deleted: 'Delete', scaled: 'Delete', isSurplus: true, has: [bySet] },
      [byPod],
    ],
    ['are the set again when the pod is to stay after all', { deleted: 'Delete', scaled: 'Delete', has: [byPod] }, [bySet]],
    ['become controllers', { deleted: 'Delete', has: [{ ...bySet, controller: false }] }, [bySet]],
    ['keep those of others', { deleted: 'Delete', has: [plain] }, [plain, bySet]],
    ['are left when an earlier set of the name has it', { deleted: 'Delete', has: [earlierSet] }, undefined],
    ['are left when an earlier pod of the name has it', { scaled: 'Delete', isSurplus: true, has: [earlierPod] }, undefined],
    ['are left to another controller', { deleted: 'Delete', has: [foreign] }, undefined],
    ['are no longer the set where another controls it as well', { deleted: 'Delete', has: [foreign, bySet] }, [foreign]],
  ])('%s', (_, what, owners) => expect(decideClaimOwners(of(what))).toEqual(owners));
});

it.each<[string, Case, boolean]>([
  ['another controls what is to go with the set', { deleted: 'Delete', has: [foreign] }, true],
  ['another controls what is to stay', { has: [foreign] }, false],
  ['another owns it, and does not control it', { deleted: 'Delete', has: [plain] }, false],
  ['the set controls it', { deleted: 'Delete', has: [bySet] }, false],
])('%s: a conflict is %s', (_, what, isConflict) => expect(hasConflict(of(what))).toBe(isConflict));

it.each<[string, Case, boolean]>([
  ['an earlier pod', { scaled: 'Delete', has: [earlierPod] }, true],
  ['an earlier pod, and claims stay', { has: [earlierPod] }, false],
  ['another pod', { scaled: 'Delete', has: [{ ...earlierPod, name: 'web-2' }] }, false],
  ['the set', { scaled: 'Delete', has: [bySet] }, false],
])('a claim that belongs to %s goes with an earlier pod of the name: %s', (_, what, goes) => {
  const { set, claim } = of(what);
  expect(goesWithEarlierPod(set, claim, 'web-1')).toBe(goes);
});
