import { describe, expect, it } from 'vitest';
import { kindNamed } from '../../api/kinds/index.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import { GrowingSet } from '../../api/meta/growing-set.ts';
import { createIndexer } from '../../client/informer/indexer.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import { createDependents } from './controller.ts';
import { type FamilyKind, familyIndexers } from './family.ts';

const events = { event: () => {} };

const owner: ApiObject = {
  metadata: {
    namespace: 'n',
    name: 'o',
    uid: 'owner',
    deletionTimestamp: { seconds: 1 },
    finalizers: ['orphan'],
  },
};
const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'owner' };

/** A kind whose informer shows all or nothing of what the server has. */
function followed(name: 'ConfigMap' | 'Secret', stored: readonly ApiObject[], isShown: boolean) {
  const kind = kindNamed(name) as Kind;
  const client = createFakeResourceClient<ApiObject>({ kind: name });
  const versions = stored.map((object) => client.put(object));
  const lister = {
    get: (key: string) => (isShown ? versions : []).find(({ metadata }) => `${metadata?.namespace}/${metadata?.name}` === key),
    byIndex: () => [],
  } as unknown as FamilyKind['informer']['lister'];
  return { kind, client, informer: { lister, addHandler: () => () => {}, waitForSync: async () => {} } };
}

describe('an owner that is deleted with Orphan', () => {
  it('leaves also those dependents that the informers do not show yet', async () => {
    const maps = followed('ConfigMap', [owner], true);
    const secrets = followed(
      'Secret',
      ['a', 'b'].map((name) => ({
        metadata: { namespace: 'n', name, uid: name, ...(name === 'a' && { ownerReferences: [reference] }) },
      })),
      false,
    );
    const controller = createDependents({ kinds: new GrowingSet([maps, secrets]), events, logger: createFakeLogger() });
    await controller.reconcile('ConfigMap|n/o', new AbortController().signal);
    expect(secrets.client.callLog('patch')).toEqual(['patch n/a']);
    expect(secrets.client.stored('n/a')?.metadata?.ownerReferences ?? []).toEqual([]);
    expect(maps.client.callLog('patch')).toEqual(['patch n/o']);
  });
});

describe('an object that names an owner of another namespace', () => {
  it.each([
    ['in a namespace is deleted, and told why once', 'ConfigMap', 'm'],
    ['in none stays, and is told once', 'Namespace', undefined],
  ] as const)('%s', async (_, kindName, namespace) => {
    const told: unknown[] = [];
    const kind = kindNamed(kindName) as Kind;
    const object: ApiObject = {
      metadata: { ...(namespace && { namespace }), name: 'd', uid: 'dep', ownerReferences: [reference] },
    };
    const there: ApiObject = { metadata: { namespace: 'n', name: 'o', uid: 'owner' } };
    const known = (name: 'ConfigMap' | 'Namespace', objects: readonly ApiObject[]): FamilyKind => {
      const client = createFakeResourceClient<ApiObject>({ kind: name });
      const lister = createIndexer<ApiObject>(familyIndexers);
      for (const each of objects) lister.set(client.put(each));
      return {
        kind: kindNamed(name) as Kind,
        client,
        informer: { lister, addHandler: () => () => {}, waitForSync: async () => {} },
      };
    };
    const own = kindName === 'ConfigMap' ? [there, object] : [there];
    const maps = known('ConfigMap', own);
    const others = known('Namespace', kindName === 'Namespace' ? [object] : []);
    const controller = createDependents({
      kinds: new GrowingSet([maps, others]),
      events: { event: (about, ...words) => void told.push([about.kind, about.name, ...words]) },
      logger: createFakeLogger(),
    });
    const key = namespace ? `${kind.kind}|m/d` : `${kind.kind}|d`;
    await controller.reconcile(key, new AbortController().signal);
    await controller.reconcile(key, new AbortController().signal);
    const where = namespace ?? '';
    expect(told).toEqual([
      [
        ...[kindName, 'd', 'Warning', 'OwnerRefInvalidNamespace'],
        `ownerRef [v1/ConfigMap, namespace: ${where}, name: o, uid: owner] does not exist in namespace "${where}"`,
      ],
    ]);
    const { client } = namespace ? maps : others;
    expect((client as ReturnType<typeof createFakeResourceClient>).callLog('delete')).toHaveLength(namespace ? 2 : 0);
  });
});
