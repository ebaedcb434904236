import { describe, expect, it } from 'vitest';
import type { OwnerReference, Pod } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { mirrorPods } from './mirror-pods.ts';

const rules = mirrorPods(async (name) => (name === 'n1' ? { metadata: { name, uid: 'u1' } } : undefined));
const owner = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u1', controller: true };

async function admit(owners: OwnerReference[], nodeName = 'n1'): Promise<void> {
  const pod: Pod = {
    metadata: { name: 'web', annotations: { 'kubernetes.io/config.mirror': 'hash' }, ownerReferences: owners },
    spec: { nodeName },
  };
  await rules.create(kindNamed('Pod'), pod);
}

describe('a mirror pod', () => {
  it('is owned by its node, and other pods by whomever they like', async () => {
    await admit([owner]);
    await rules.create(kindNamed('Pod'), { metadata: { name: 'web' } });
  });

  it.each([
    ['no owner', [], 'node "n1" can only create pods with an owner reference set to itself'],
    ['two owners', [owner, owner], 'with a single owner reference set to itself'],
    ['another owner', [{ ...owner, name: 'n2' }], 'with an owner reference set to itself'],
    ['an owner that does not control it', [{ ...owner, controller: false }], 'with a controller owner reference set to itself'],
    ['an owner that waits for it', [{ ...owner, blockOwnerDeletion: true }], 'must not set blockOwnerDeletion'],
    ['a node of the same name that is gone', [{ ...owner, uid: 'u0' }], 'its uid is u1, not u0'],
  ])('is refused with %s', async (_, owners, message) => {
    await expect(admit(owners)).rejects.toThrow(message);
  });

  it('is refused while its node is not there', async () => {
    await expect(admit([{ ...owner, name: 'n2' }], 'n2')).rejects.toThrow('node "n2" not found');
  });
});
