import { describe, expect, it } from 'vitest';
import { kindNamed } from '../../api/kinds/index.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import { GrowingSet } from '../../api/meta/growing-set.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import { createDependents } from './controller.ts';
import type { FamilyKind } from './family.ts';

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
    const controller = createDependents({ kinds: new GrowingSet([maps, secrets]), logger: createFakeLogger() });
    await controller.reconcile('ConfigMap|n/o', new AbortController().signal);
    expect(secrets.client.callLog('patch')).toEqual(['patch n/a']);
    expect(secrets.client.stored('n/a')?.metadata?.ownerReferences ?? []).toEqual([]);
    expect(maps.client.callLog('patch')).toEqual(['patch n/o']);
  });
});
