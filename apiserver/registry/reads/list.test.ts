import { describe, expect, it } from 'vitest';
import { encodeMessage } from '../../../api/codec/message.ts';
import { kindNamed } from '../../../api/kinds/index.ts';
import { createMemoryStorage } from '../../storage/memory/memory-storage.ts';
import { KindCache } from '../../watch/kind-cache.ts';
import { KindStore } from '../kind-store.ts';
import { listObjects } from './list.ts';

const kind = kindNamed('ConfigMap');

function storeOf(count: number): KindStore {
  const cache = new KindCache(kind);
  const items = Array.from({ length: count }, (_, i) => {
    const name = `m${String(i).padStart(4, '0')}`;
    const bytes = encodeMessage(kind.message, { metadata: { namespace: 'default', name } });
    return { key: `configmaps/default/${name}`, bytes, revision: i + 1 };
  });
  cache.reset(items, count);
  const storage = createMemoryStorage();
  return new KindStore(cache, { storage, now: () => new Date(0), random: () => 0, uid: () => 'uid' });
}

/** How many objects of such a size, each of which takes so long to make, were made in each turn of the event loop. */
async function madePerTurn(store: KindStore, size: number, ms: number): Promise<number[]> {
  const made = [0];
  let isOver = false;
  const count = (): void => {
    if (isOver) return;
    made.push(0);
    setImmediate(count);
  };
  setImmediate(count);
  const sizeOf = (): number => {
    for (const end = performance.now() + ms; performance.now() < end; );
    made[made.length - 1]!++;
    return size;
  };
  await listObjects(store, { namespace: '', options: {} }, { sizeOf, pageBytes: 100 * 1024 * 1024 });
  isOver = true;
  return made.filter((each) => each > 0);
}

describe('a list whose objects take long to make', () => {
  it('lets others have their turn after each large object', async () => {
    expect(await madePerTurn(storeOf(10), 200 * 1024, 6)).toEqual(Array(10).fill(1));
  });

  it('lets others have their turn after some that are large together', async () => {
    expect(await madePerTurn(storeOf(16), 17 * 1024, 3)).toEqual([4, 4, 4, 4]);
  });

  it('lets others have their turn after every few small ones', async () => {
    expect(await madePerTurn(storeOf(64), 100, 1)).toEqual([32, 32]);
  });
});
