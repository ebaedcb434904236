import { expect, it } from 'vitest';
import { ApiError } from '../../api/errors/index.ts';
import type { OwnerReference } from '../../api/generated/types.ts';
import { kindOfInfo } from '../../api/kinds/custom/custom-kind.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import { GrowingSet } from '../../api/meta/growing-set.ts';
import { createIndexer } from '../../client/informer/indexer.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import { createFamily, type FamilyKind, familyIndexers } from './family.ts';

const toyKind = (name: string) => kindOfInfo({ apiVersion: 'example.com/v1', kind: name, plural: name, namespaced: true });
const signal = new AbortController().signal;

function familyKind(kind: Kind, objects: readonly ApiObject[] = []): FamilyKind {
  const lister = createIndexer<ApiObject>(familyIndexers);
  for (const object of objects) lister.set(object);
  const informer = { lister, addHandler: () => () => {}, waitForSync: async () => {} };
  return { kind, client: createFakeResourceClient<ApiObject>({ kind: kind.kind }), informer };
}

const referTo = (kind: string): OwnerReference => ({ apiVersion: 'example.com/v1', kind, name: 'o', uid: 'u' });

it('takes owners of an unknown kind to exist, of one that went to be absent, and forgets all but the last 1,000', async () => {
  const kinds = new GrowingSet<FamilyKind>();
  const family = createFamily(kinds);
  const of = { followed: familyKind(kindNamed('ConfigMap') as Kind), object: { metadata: { namespace: 'n', name: 'd' } } };
  expect(await family.judge(referTo('Toy0'), of, signal)).toBe('present');
  for (let i = 0; i <= 1_000; i++) {
    const kind = familyKind(toyKind(`Toy${i}`));
    kinds.add(kind);
    kinds.remove(kind);
  }
  expect(await family.judge(referTo('Toy0'), of, signal)).toBe('present');
  expect(await family.judge(referTo('Toy1'), of, signal)).toBe('absent');
  expect(await family.judge(referTo('Toy1000'), of, signal)).toBe('absent');
});

it('finds what names owners of a custom kind, in any version, and nothing below kinds of its own', () => {
  const owned = (name: string, reference: OwnerReference) => ({
    metadata: { namespace: 'n', name, ownerReferences: [reference] },
  });
  const maps = familyKind(kindNamed('ConfigMap') as Kind, [
    owned('a', referTo('Toy')),
    owned('b', { ...referTo('Toy'), apiVersion: 'example.com/v1beta1' }),
    owned('c', { ...referTo('Toy'), apiVersion: 'other.example.com/v1' }),
    owned('d', { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u' }),
  ]);
  const family = createFamily(new GrowingSet([maps]));
  expect(family.keysBelow(toyKind('Toy'))).toEqual(['ConfigMap|n/a', 'ConfigMap|n/b']);
  expect(family.keysBelow(kindNamed('ConfigMap') as Kind)).toEqual([]);
});

it('does not take the object for absent when the server does not serve its kind', async () => {
  const toys = familyKind(toyKind('Toy'));
  const family = createFamily(new GrowingSet([toys]));
  const of = { followed: toys, object: { metadata: { namespace: 'n', name: 'd' } } };
  expect(await family.judge(referTo('Toy'), of, signal)).toBe('absent');
  toys.client.get = () => Promise.reject(new ApiError('NOT_FOUND', 'NotFound', 'no kind "Toy"'));
  await expect(family.judge(referTo('Toy'), of, signal)).rejects.toThrow('does not serve them now');
});
