import { describe, expect, it } from 'vitest';
import { encodeMessage } from '../../api/codec/message.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { Storage, StoredObject } from '../storage/storage.ts';
import { StorageError } from '../storage/storage-error.ts';
import { KindCache } from '../watch/kind-cache.ts';
import { deleteObject } from './delete.ts';
import { KindStore } from './kind-store.ts';

const kind = kindNamed('ConfigMap');
const key = 'configmaps/default/a';
const bytes = encodeMessage(kind.message, { metadata: { namespace: 'default', name: 'a' } });
const context = { user: 'u', manager: 'm', dryRun: false };

/** A disk that takes its time: the store has decided for revision 2 already, but a read still gives revision 1. */
function createSlowStore() {
  const deleted: number[] = [];
  let onDisk = 1;
  let refusals = 0;
  const storage = {
    get: async (): Promise<StoredObject> => ({ key, bytes, revision: onDisk }),
    async delete(_: string, expected: number) {
      if (expected !== 2) {
        refusals++;
        throw new StorageError('mismatch', 'read it again', { revision: 2 });
      }
      deleted.push(expected);
      return 3;
    },
  } as unknown as Storage;
  const cache = new KindCache(kind);
  cache.reset([{ key, bytes, revision: 1 }], 1);
  const store = new KindStore(cache, { storage, now: () => new Date(0), random: () => 0, uid: () => 'uid' });
  return {
    store,
    deleted,
    refusals: () => refusals,
    written() {
      onDisk = 2;
      cache.apply({ type: 'put', key, bytes, revision: 2, durability: 'synced' });
      cache.advance(2);
    },
  };
}

describe('a change that finds another write on its way to the disk', () => {
  it('waits for that write instead of using up its attempts', async () => {
    const slow = createSlowStore();
    const done = deleteObject(slow.store, { namespace: 'default', name: 'a' }, {}, context);
    // Whatever can happen without the disk has happened.
    await new Promise((resolve) => setImmediate(resolve));
    expect(slow.refusals()).toBe(1);
    slow.written();
    await done;
    expect(slow.deleted).toEqual([2]);
  });
});
