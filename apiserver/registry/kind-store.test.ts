import { describe, expect, it } from 'vitest';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import type { Pod } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { Storage, StoredObject } from '../storage/storage.ts';
import { StorageError } from '../storage/storage-error.ts';
import { KindCache } from '../watch/kind-cache.ts';
import type { AnyObject } from './any-object.ts';
import { deleteObject } from './delete.ts';
import { KindStore } from './kind-store.ts';
import { patchObject } from './patch.ts';
import type { WriteContext } from './write-context.ts';

const kind = kindNamed('ConfigMap');
const key = 'configmaps/default/a';
const bytes = encodeMessage(kind.message, { metadata: { namespace: 'default', name: 'a' } });
const context = { user: 'u', manager: 'm', dryRun: false };

/** A caller that goes when told. */
const callerOf = (isGone: () => boolean) => ({
  signal: new AbortController().signal,
  get isCancelled() {
    return isGone();
  },
});

/** A disk that takes its time: the store has decided for revision 2 already, but a read still gives what was before. */
function createSlowStore(before = 1) {
  const deleted: number[] = [];
  let onDisk = before;
  let refusals = 0;
  const storage = {
    get: async (): Promise<StoredObject | undefined> => (onDisk > 0 ? { key, bytes, revision: onDisk } : undefined),
    create: () => Promise.reject(new StorageError('exists', 'it exists', { revision: 2 })),
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
  cache.reset(before > 0 ? [{ key, bytes, revision: before }] : [], 1);
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
    removed: () => cache.advance(3),
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

  it('is refused only when the other write can be read, as nothing else could tell that it ever was', async () => {
    const slow = createSlowStore(0);
    let refused = false;
    const created = slow.store.insert({ at: { namespace: 'default', name: 'a' }, bytes }, context).catch((error: unknown) => {
      refused = true;
      throw error;
    });
    const refusal = expect(created).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    await new Promise((resolve) => setImmediate(resolve));
    expect(refused).toBe(false);
    slow.written();
    await refusal;
  });
});

it('a read of a store that is closing is unavailable, whatever write it belongs to', async () => {
  const closed = () => Promise.reject(new StorageError('closed', 'it is closed'));
  const create = () => Promise.reject(new StorageError('exists', 'it exists'));
  const storage = { get: closed, create } as unknown as Storage;
  const store = new KindStore(new KindCache(kind), { storage, now: () => new Date(0), random: () => 0, uid: () => 'uid' });
  for (const dryRun of [true, false]) {
    const created = store.insert({ at: { namespace: 'default', name: 'a' }, bytes }, { ...context, dryRun });
    await expect(created).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  }
});

describe('a write whose call is cancelled before it begins', () => {
  const at = { namespace: 'default', name: 'a' };
  const compute = (previous: AnyObject) => ({ ...previous, data: { value: 'changed' } }) as AnyObject;

  /** A store with one object, in which a read takes until `read`. */
  function createStore() {
    let read: () => void = () => {};
    const reading = new Promise<void>((resolve) => {
      read = resolve;
    });
    const written: string[] = [];
    const get = async () => {
      await reading;
      return { key, bytes, revision: 1 };
    };
    const write = (what: string) => async () => {
      written.push(what);
      return 2;
    };
    const storage = { get, create: write('create'), update: write('update'), delete: write('delete') } as unknown as Storage;
    const cache = new KindCache(kind);
    const store = new KindStore(cache, { storage, now: () => new Date(0), random: () => 0, uid: () => 'uid' });
    return { store, read, written };
  }

  it.each([
    ['an update', (store: KindStore, of: WriteContext) => store.change(at, { context: of, verb: 'update', compute })],
    [
      'a deletion',
      (store: KindStore, of: WriteContext) => store.change(at, { context: of, verb: 'delete', compute: () => 'remove' }),
    ],
  ])('is not carried out: %s', async (_, change) => {
    const { store, read, written } = createStore();
    let cancelled = false;
    const refused = expect(change(store, { ...context, caller: callerOf(() => cancelled) })).rejects.toMatchObject({
      code: 'CANCELLED',
    });
    cancelled = true;
    read();
    await refused;
    expect(written).toEqual([]);
  });

  it('is not carried out: a create', async () => {
    const { store, written } = createStore();
    const created = store.insert({ at, bytes }, { ...context, caller: callerOf(() => true) });
    await expect(created).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(written).toEqual([]);
  });
});

describe('a change that is refused because of what the watch cache shows', () => {
  const at = { namespace: 'default', name: 'a' };
  const ofData = (value: string) =>
    encodeMessage(kind.message, { metadata: { namespace: 'default', name: 'a' }, data: { value } });

  it('is judged again on the stored version, and refused only because of that', async () => {
    const cache = new KindCache(kind);
    cache.reset([{ key, bytes: ofData('old'), revision: 1 }], 1);
    let onDisk = { key, bytes: ofData('new'), revision: 2 };
    const storage = {
      get: async () => onDisk,
      update: async (_: string, expected: number, write: { bytes: Uint8Array }) => {
        if (expected !== onDisk.revision) throw new StorageError('mismatch', 'x', { revision: onDisk.revision });
        onDisk = { key, bytes: Buffer.from(write.bytes), revision: 3 };
        return 3;
      },
    } as unknown as Storage;
    const store = new KindStore(cache, { storage, now: () => new Date(0), random: () => 0, uid: () => 'uid' });
    const seen: unknown[] = [];
    const only = (wanted: string) =>
      store.change(at, {
        context,
        verb: 'update',
        compute: (previous) => {
          const value = (previous as { data?: Record<string, string> }).data?.value;
          seen.push(value);
          if (value !== wanted) throw new Error(`refused: ${value}`);
          return { ...previous, data: { value: 'changed' } } as typeof previous;
        },
      });
    setImmediate(() => cache.advance(2));
    await only('new');
    expect(seen).toEqual(['old', 'new']);
    setImmediate(() => cache.advance(3));
    await expect(only('old')).rejects.toThrow('refused: changed');
  });
});

describe('changes of large objects that arrive together', () => {
  const names = Array.from({ length: 10 }, (_, i) => `large-${i}`);

  async function loopTurnsDuring(padding: number): Promise<number> {
    const cache = new KindCache(kind);
    const entries = names.map((name, i) => {
      const object = { metadata: { namespace: 'default', name }, data: { text: 'x'.repeat(padding) } };
      return { key: `configmaps/default/${name}`, bytes: encodeMessage(kind.message, object), revision: i + 1 };
    });
    cache.reset(entries, names.length);
    let revision = names.length;
    const storage = { update: async () => ++revision } as unknown as Storage;
    const store = new KindStore(cache, { storage, now: () => new Date(0), random: () => 0, uid: () => 'uid' });
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const compute = async (previous: AnyObject): Promise<AnyObject> => ({ ...previous, data: { text: 'y' } }) as AnyObject;
    await Promise.all(names.map((name) => store.change({ namespace: 'default', name }, { verb: 'patch', context, compute })));
    isOver = true;
    return turns;
  }

  it('leave a turn of the event loop between each two', async () => {
    expect(await loopTurnsDuring(70_000)).toBeGreaterThanOrEqual(names.length - 1);
  });

  it('of small ones run at once', async () => {
    expect(await loopTurnsDuring(10)).toBeLessThan(3);
  });
});

it('an object of a version that kept quantities as sent takes a change of its metadata, and its spec counts as the same', async () => {
  const pod = kindNamed('Pod');
  const old: Pod = {
    metadata: { namespace: 'default', name: 'a', uid: 'u', generation: 1 },
    spec: { containers: [{ name: 'c', image: 'x', resources: { limits: { cpu: { string: '0.5' } } } }] },
  };
  pod.defaults(old);
  const stored = { key: 'pods/default/a', bytes: encodeMessage(pod.message, old), revision: 1 };
  const cache = new KindCache(pod);
  cache.reset([stored], 1);
  const storage = { get: async () => stored } as unknown as Storage;
  const store = new KindStore(cache, { storage, now: () => new Date(0), random: () => 0, uid: () => 'uid' });
  const patch = Buffer.from(JSON.stringify({ metadata: { labels: { a: 'b' } } }));
  const input = { at: { namespace: 'default', name: 'a' }, type: 'application/merge-patch+json', patch, subresource: '' };
  const { bytes: answer } = await patchObject(store, input, { ...context, dryRun: true });
  const next = decodeMessage<Pod>(pod.message, answer);
  expect(next.metadata).toMatchObject({ labels: { a: 'b' }, generation: 1 });
  expect(next.spec?.containers?.[0]?.resources?.limits?.cpu).toEqual({ string: '500m' });
});

it('does not wait for a cache that shows every acknowledged write', async () => {
  const slow = createSlowStore();
  expect(slow.store.fresh()).toBeUndefined();
  const done = deleteObject(slow.store, { namespace: 'default', name: 'a' }, {}, context);
  await new Promise((resolve) => setImmediate(resolve));
  slow.written();
  await done;
  const fresh = slow.store.fresh();
  expect(fresh).toBeInstanceOf(Promise);
  slow.removed();
  await fresh;
  expect(slow.store.fresh()).toBeUndefined();
});
