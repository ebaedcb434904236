import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type KindName, kindNamed } from '../../../api/kinds/index.ts';
import { createFakeClock, type FakeClock } from '../../../test/fakes/fake-clock.ts';
import { createMemoryStorage } from '../../storage/memory/memory-storage.ts';
import type { Storage } from '../../storage/storage.ts';
import { KindCache } from '../../watch/kind-cache.ts';
import { deleteObject } from '../delete.ts';
import { KindStore } from '../kind-store.ts';
import { patchObject } from '../patch.ts';
import { getObject } from '../registry.ts';
import { findVersion } from './find-version.ts';
import { objectHistory } from './history.ts';
import { listObjects } from './list.ts';

const at = { namespace: 'default', name: 'a' };
const context = { user: 'ann', manager: 'test', dryRun: false };
const start = Date.UTC(2026, 0, 1, 12);
const page = { limit: 0, continue: '', wholeValues: false, since: 0 };

let clock: FakeClock;
let storage: Storage;
let store: KindStore;
let stop: AbortController;

/** A store of ConfigMaps over a storage that the test can compact, with the cache fed as by the server. */
beforeEach(() => {
  clock = createFakeClock(start);
  storage = createMemoryStorage({ clock });
  store = open('ConfigMap');
  stop = new AbortController();
  void (async () => {
    for await (const batch of storage.watch({ prefix: '', from: 0 }, stop.signal)) {
      for (const event of batch) if (event.key.startsWith(store.keyPrefix)) store.cache.apply(event);
      store.cache.advance(batch.at(-1)!.revision);
    }
  })();
});
afterEach(() => stop.abort());

function open(kind: KindName): KindStore {
  const environment = { storage, now: () => new Date(clock.now()), random: () => 0, uid: () => 'uid' };
  return new KindStore(new KindCache(kindNamed(kind)), environment);
}

async function create(data: Record<string, string>, more: object = {}): Promise<void> {
  clock.skew(60_000);
  const bytes = store.encode({ metadata: { ...at, uid: 'u1', generation: 1 }, data, ...more } as object);
  await store.insert({ at, bytes }, context);
}

async function patch(change: object, who = context): Promise<void> {
  clock.skew(60_000);
  const input = { at, type: 'application/merge-patch+json', patch: Buffer.from(JSON.stringify(change)), subresource: '' };
  await patchObject(store, input, who);
}

const shown = async (options: Partial<typeof page> = {}) =>
  (await objectHistory(store, at, { ...page, ...options })).revisions.map(
    ({ type, user, verb, changes = [] }) => `${type} ${verb} by ${user}: ${changes.map((each) => each.path).join(', ')}`,
  );

describe('the history of an object', () => {
  it('says who changed which fields, the newest first, and outlives the object', async () => {
    await create({ a: '1' });
    await patch({ data: { a: '2', b: 'x' } }, { ...context, user: 'bob' });
    await patch({ metadata: { labels: { app: 'web' } }, data: { b: null } });
    await deleteObject(store, at, {}, context);
    expect(await shown()).toEqual([
      'DELETED delete by ann: ',
      'MODIFIED patch by ann: metadata.labels.app, data.b',
      'MODIFIED patch by bob: data.a, data.b',
      'ADDED create by ann: ',
    ]);
    const { revisions } = await objectHistory(store, at, page);
    expect(revisions[2]).toEqual({
      resourceVersion: '2',
      type: 'MODIFIED',
      time: { seconds: start / 1000 + 120 },
      user: 'bob',
      manager: 'test',
      verb: 'patch',
      uid: 'u1',
      changes: [
        { path: 'data.a', operation: 'replace', before: '"1"', after: '"2"' },
        { path: 'data.b', operation: 'add', after: '"x"' },
      ],
    });
  });

  it('of a name that was used again has the earlier object too', async () => {
    await create({ a: '1' });
    await deleteObject(store, at, {}, context);
    await create({ a: '2' });
    expect(await shown()).toEqual(['ADDED create by ann: ', 'DELETED delete by ann: ', 'ADDED create by ann: ']);
  });

  it('does not know what the oldest version that is kept had changed, but who wrote it', async () => {
    await create({ a: '1' });
    await patch({ data: { a: '2' } });
    await patch({ data: { a: '3' } });
    await storage.compact(2);
    const { revisions } = await objectHistory(store, at, page);
    expect(revisions.map(({ type, beforeUnknown, changes }) => [type, beforeUnknown, changes?.length])).toEqual([
      ['MODIFIED', undefined, 1],
      ['MODIFIED', true, undefined],
    ]);
    await storage.compact(3);
    expect(await shown()).toEqual(['MODIFIED patch by ann: ']);
  });

  it('knows a creation as such when what was before is forgotten', async () => {
    await create({ a: '1' });
    await storage.compact(1);
    expect(await shown()).toEqual(['ADDED create by ann: ']);
    await deleteObject(store, at, {}, context);
    await create({ a: '2' });
    await storage.compact(2);
    expect(await shown()).toEqual(['ADDED create by ann: ']);
  });

  it('does not take for a creation what a restored store has of an object', async () => {
    await create({ a: '1' });
    await patch({ data: { a: '2' } });
    const { writes } = await storage.history.writes(store.key(at), { limit: 1 });
    const restored = writes.map((write) => ({ ...write, previous: 0 }));
    storage = { history: { writes: async () => ({ writes: restored, more: false, compacted: 2 }) } } as unknown as Storage;
    store = open('ConfigMap');
    const { revisions } = await objectHistory(store, at, page);
    expect(revisions).toMatchObject([{ type: 'MODIFIED', verb: 'patch', beforeUnknown: true }]);
  });

  it('comes in pages, as many as fit, and every version once', async () => {
    await create({ a: '0' });
    for (let i = 1; i < 60; i++) await patch({ data: { a: `${i}`.repeat(10_000) } });
    const seen: string[] = [];
    let token = '';
    let pages = 0;
    do {
      const { revisions, continue: next } = await objectHistory(store, at, { ...page, wholeValues: true, continue: token });
      seen.push(...revisions.map((revision) => revision.resourceVersion ?? ''));
      token = next ?? '';
      pages++;
    } while (token);
    expect(seen).toEqual(Array.from({ length: 60 }, (_, i) => String(60 - i)));
    expect(pages).toBeGreaterThan(1);
    expect(await shown({ limit: 2 })).toHaveLength(2);
  });

  it('ends a page that the history has lost with OUT_OF_RANGE, and says how far back it goes', async () => {
    await create({ a: '0' });
    for (let i = 1; i < 10; i++) await patch({ data: { a: `${i}` } });
    const first = await objectHistory(store, at, { ...page, limit: 3 });
    await storage.compact(9);
    await expect(objectHistory(store, at, { ...page, continue: first.continue ?? '' })).rejects.toMatchObject({
      code: 'OUT_OF_RANGE',
      message:
        'cannot look back to version 8: the history goes back to 2026-01-01T12:09:00Z (60s ago, version 9); "berth up --history" sets how long it is kept',
    });
  });

  it('cuts long values unless they are asked for whole, and counts the changes that it does not name', async () => {
    await create({});
    await patch({ data: Object.fromEntries(Array.from({ length: 600 }, (_, i) => [`k${i}`, 'x'.repeat(1_000)])) });
    const [short] = (await objectHistory(store, at, page)).revisions;
    expect(short?.changes).toHaveLength(500);
    expect(short?.omittedChanges).toBe(100);
    expect(short?.changes?.[0]).toMatchObject({ path: 'data.k0', after: `"${'x'.repeat(255)}`, cut: true });
    const [whole] = (await objectHistory(store, at, { ...page, wholeValues: true })).revisions;
    expect(whole?.changes?.[0]).toEqual({ path: 'data.k0', operation: 'add', after: `"${'x'.repeat(1_000)}"` });
  });

  it('of an object that never was is NOT_FOUND, and of another list its token is refused', async () => {
    await expect(shown()).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await create({ a: '0' });
    for (let i = 1; i < 3; i++) await patch({ data: { a: `${i}` } });
    const first = await objectHistory(store, at, { ...page, limit: 1 });
    const other = objectHistory(store, { ...at, name: 'b' }, { ...page, continue: first.continue ?? '' });
    await expect(other).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(shown({ limit: -1 })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('is refused for a kind that keeps none', async () => {
    const leases = open('Lease');
    await expect(objectHistory(leases, at, page)).rejects.toMatchObject({ code: 'UNIMPLEMENTED' });
  });
});

describe('a secret', () => {
  it('shows which keys have changed, never a value', async () => {
    store = open('Secret');
    await create({ password: 'YQ==' }, { type: 'Opaque' });
    const note = { 'kubectl.kubernetes.io/last-applied-configuration': '{"data":{"password":"Yg=="}}' };
    await patch({ data: { password: 'Yg==' }, metadata: { labels: { app: 'web' }, annotations: note } });
    const { revisions } = await objectHistory(store, at, { ...page, wholeValues: true });
    expect(revisions[0]?.changes).toEqual([
      { path: 'metadata.labels.app', operation: 'add', after: '"web"' },
      { path: 'data.password', operation: 'replace', hidden: true },
    ]);
    expect(JSON.stringify(revisions)).not.toMatch(/Y[Qg]==/);
  });
});

describe('reading at a version', () => {
  const textOf = async (version: string) =>
    store.decode(await getObject(store, at, { resourceVersion: version, resourceVersionMatch: 'Exact' })) as { data?: object };

  it('shows the object as it was, and that it was not there', async () => {
    await create({ a: '1' });
    await patch({ data: { a: '2' } });
    await deleteObject(store, at, {}, context);
    expect((await textOf('1')).data).toEqual({ a: '1' });
    expect((await textOf('2')).data).toEqual({ a: '2' });
    await expect(textOf('3')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(textOf('0')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    const scope = { namespace: 'default', options: { resourceVersion: '2', resourceVersionMatch: 'Exact' } };
    const { items, metadata } = await listObjects(store, scope);
    expect([items.length, metadata.resourceVersion]).toEqual([1, '2']);
  });

  it('gives the present object without a promise where the cache shows every write', async () => {
    await create({ a: '1' });
    const present = await getObject(store, at, {});
    expect(getObject(store, at, {})).toEqual(present);
    expect(() => getObject(store, { ...at, name: 'other' }, {})).toThrow('not found');
  });

  it('finds nothing under names that no object can have', async () => {
    await create({ a: '1' });
    await patch({ data: { a: '2' } });
    const then = { resourceVersion: '1', resourceVersionMatch: 'Exact' };
    for (const odd of ['\u{1f6a2}', 'x'.repeat(5_000), 'a b']) {
      await expect(getObject(store, { ...at, name: odd }, then)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      await expect(getObject(store, { ...at, namespace: odd }, then)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      expect((await listObjects(store, { namespace: odd, options: then })).items).toEqual([]);
    }
  });

  it('says how far back the history goes when it is older', async () => {
    await create({ a: '1' });
    for (let i = 2; i < 5; i++) await patch({ data: { a: `${i}` } });
    await storage.compact(3);
    const gone = {
      code: 'OUT_OF_RANGE',
      message: expect.stringContaining('goes back to 2026-01-01T12:03:00Z (60s ago, version 3)'),
    };
    await expect(textOf('2')).rejects.toMatchObject(gone);
    const scope = { namespace: 'default', options: { resourceVersion: '2', resourceVersionMatch: 'Exact' } };
    await expect(listObjects(store, scope)).rejects.toMatchObject(gone);
    expect((await textOf('3')).data).toEqual({ a: '3' });
  });

  it('of a kind without history is refused once it has changed', async () => {
    store = open('Lease');
    await store.insert({ at, bytes: store.encode({ metadata: at }) }, context);
    const then = { resourceVersion: '1', resourceVersionMatch: 'Exact' };
    expect((await getObject(store, at, then)).revision).toBe(1);
    await deleteObject(store, at, {}, context);
    await expect(getObject(store, at, then)).rejects.toMatchObject({ code: 'UNIMPLEMENTED' });
    await expect(listObjects(store, { namespace: '', options: then })).rejects.toMatchObject({ code: 'UNIMPLEMENTED' });
  });
});

describe('finding a version', () => {
  const find = (request: Parameters<typeof findVersion>[1]) => findVersion(storage, request, new Date(clock.now()));
  beforeEach(async () => {
    await create({ a: '1' });
    for (let i = 2; i < 5; i++) await patch({ data: { a: `${i}` } });
  });

  it('takes a time, an age by its own clock, or a version', async () => {
    const seconds = start / 1000;
    expect(await find({ time: { seconds: seconds + 150 } })).toEqual({
      resourceVersion: '2',
      time: { seconds: seconds + 120 },
      at: { seconds: seconds + 150 },
      oldestResourceVersion: '1',
      oldestTime: { seconds: seconds + 60 },
    });
    expect(await find({ ageMilliseconds: 60_000 })).toMatchObject({ resourceVersion: '3', at: { seconds: seconds + 180 } });
    expect(await find({ resourceVersion: '2' })).toMatchObject({ resourceVersion: '2', at: { seconds: seconds + 120 } });
    expect(await find({})).toMatchObject({ resourceVersion: '4', at: { seconds: seconds + 240 } });
  });

  it('refuses what is too long ago, in the future, or said twice', async () => {
    await storage.compact(2);
    const gone = {
      code: 'OUT_OF_RANGE',
      message: expect.stringContaining('goes back to 2026-01-01T12:02:00Z (2m ago, version 2)'),
    };
    await expect(find({ ageMilliseconds: 3_600_000 })).rejects.toMatchObject(gone);
    await expect(find({ resourceVersion: '1' })).rejects.toMatchObject(gone);
    const wrong = { code: 'INVALID_ARGUMENT' };
    await expect(find({ time: { seconds: start / 1000 + 3_600 } })).rejects.toMatchObject(wrong);
    await expect(find({ resourceVersion: '99' })).rejects.toMatchObject(wrong);
    await expect(find({ resourceVersion: '1', ageMilliseconds: 1 })).rejects.toMatchObject(wrong);
    await expect(find({ ageMilliseconds: Number.MAX_SAFE_INTEGER })).rejects.toMatchObject(gone);
    await expect(find({ ageMilliseconds: -Number.MAX_SAFE_INTEGER })).rejects.toMatchObject(wrong);
    await expect(find({ time: { seconds: -Number.MAX_SAFE_INTEGER } })).rejects.toMatchObject(gone);
    expect(await find({ time: { seconds: start / 1000 + 260 } })).toMatchObject({ resourceVersion: '4' });
  });
});
