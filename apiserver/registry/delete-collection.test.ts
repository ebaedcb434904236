import { expect, it } from 'vitest';
import { encodeMessage } from '../../api/codec/message.ts';
import { unavailable } from '../../api/errors/index.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { Storage } from '../storage/storage.ts';
import { StorageError } from '../storage/storage-error.ts';
import { KindCache } from '../watch/kind-cache.ts';
import { deleteCollection } from './delete-collection.ts';
import { KindStore } from './kind-store.ts';

const kind = kindNamed('ConfigMap');
const turn = () => new Promise((resolve) => setImmediate(resolve));

it('ends with its call, and says what ended it', async () => {
  const storage = { delete: () => Promise.resolve(2) } as unknown as Storage;
  const cache = new KindCache(kind);
  const bytes = encodeMessage(kind.message, { metadata: { namespace: 'default', name: 'a' } });
  cache.reset([{ key: 'configmaps/default/a', bytes, revision: 1 }], 1);
  const store = new KindStore(cache, { storage, now: () => new Date(0), random: () => 0, uid: () => 'uid' });
  const context = { user: 'u', manager: 'm', dryRun: false };
  const input = { namespace: 'default', listOptions: {}, options: {} };
  const stopping = AbortSignal.abort(unavailable('stopping'));
  await expect(deleteCollection(store, input, context, stopping)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

it('begins no more deletions after a fault of the server', async () => {
  let calls = 0;
  const storage = {
    async delete() {
      if (++calls === 1) throw new StorageError('closed', 'it is closed');
      await turn();
      return 1;
    },
  } as unknown as Storage;
  const cache = new KindCache(kind);
  const items = Array.from({ length: 100 }, (_, i) => {
    const name = `a${String(i).padStart(3, '0')}`;
    const bytes = encodeMessage(kind.message, { metadata: { namespace: 'default', name } });
    return { key: `configmaps/default/${name}`, bytes, revision: 1 };
  });
  cache.reset(items, 1);
  const store = new KindStore(cache, { storage, now: () => new Date(0), random: () => 0, uid: () => 'uid' });
  const context = { user: 'u', manager: 'm', dryRun: false };
  const deleted = deleteCollection(store, { namespace: 'default', listOptions: {}, options: {} }, context);
  await expect(deleted).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  const begun = calls;
  for (let i = 0; i < 20; i++) await turn();
  expect(calls).toBe(begun);
  expect(begun).toBeLessThan(items.length);
});
