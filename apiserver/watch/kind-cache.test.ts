import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import type { ConfigMap, ConfigMapWatchResponse } from '../../api/generated/types.ts';
import { configMap } from '../../api/kinds/config-map/kind.ts';
import { event } from '../../api/kinds/event/kind.ts';
import { lease } from '../../api/kinds/lease/kind.ts';
import { RestingEvent } from '../storage/resting-event.ts';
import type { StorageEvent } from '../storage/storage.ts';
import { protobufEvents } from './event-format.ts';
import { KindCache } from './kind-cache.ts';
import { compileSelection } from './selection.ts';
import { WatchSource } from './watch-source.ts';

function harness(bounds = {}) {
  let now = 0;
  const batches: (() => void)[] = [];
  const clock = {
    now: () => now,
    setTimeout: (run: () => void) => ({ batches: batches.push(run) }) as { unref?(): unknown },
    setImmediate: (run: () => void) => void batches.push(run),
  };
  const cache = new KindCache(configMap, { bounds, clock });
  const put = (name: string, revision: number, labels: Record<string, string> = {}): void =>
    cache.apply(change('put', name, revision, labels));
  const remove = (name: string, revision: number, labels: Record<string, string> = {}): void =>
    cache.apply(change('delete', name, revision, labels));
  return { cache, put, remove, batches, tick: (ms: number) => (now += ms) };
}

function change(type: 'put' | 'delete', name: string, revision: number, labels: Record<string, string>): StorageEvent {
  const object: ConfigMap = { metadata: { name, namespace: 'default', labels } };
  return {
    type,
    key: `configmaps/default/${name}`,
    revision,
    bytes: encodeMessage(configMap.message, object),
    durability: 'synced',
  };
}

function watch(cache: KindCache, revision: number | undefined, request = {}): WatchSource {
  const start = { revision, initialEvents: revision === undefined, initialBookmark: false };
  return new WatchSource(cache, compileSelection(cache, request), protobufEvents(configMap.message), start);
}

test('a watcher of a revision to come gets nothing until then, and what comes after it', () => {
  const { cache, put } = harness();
  put('a', 1);
  const start = { revision: 5, initialEvents: false, initialBookmark: false, awaitsRevision: true };
  const source = new WatchSource(cache, compileSelection(cache, {}), protobufEvents(configMap.message), start);
  put('b', 4);
  expect([source.pending, source.lost, source.awaits, read(source)]).toEqual([false, false, true, []]);
  put('c', 5);
  put('d', 7);
  cache.advance(7);
  expect([source.awaits, read(source)]).toEqual([false, ['ADDED d@7']]);
  put('a', 8);
  cache.advance(8);
  expect(read(source)).toEqual(['MODIFIED a@8']);
});

test('a watcher whose revision comes when its events are gone has lost its place', () => {
  const { cache, put, tick } = harness();
  put('a', 1);
  const start = { revision: 3, initialEvents: false, initialBookmark: false, awaitsRevision: true };
  const source = new WatchSource(cache, compileSelection(cache, {}), protobufEvents(configMap.message), start);
  put('b', 4);
  tick(3_600_000);
  put('c', 5);
  tick(3_600_000);
  put('d', 6);
  cache.advance(6);
  expect(source.lost).toBe(true);
});

function read(source: WatchSource): string[] {
  const seen: string[] = [];
  for (let chunk = source.next(); chunk; chunk = source.next()) {
    const { events = [] } = decodeMessage<ConfigMapWatchResponse>('berth.core.v1.ConfigMapWatchResponse', chunk.subarray(5));
    for (const { type, object } of events) seen.push(`${type} ${object?.metadata?.name}@${object?.metadata?.resourceVersion}`);
  }
  return seen;
}

test('a watcher that starts anywhere in the ring gets everything after it and nothing twice', () => {
  const { cache, put, remove } = harness();
  put('a', 1);
  put('b', 3);
  put('a', 4);
  remove('b', 6);
  cache.advance(6);
  const all = ['ADDED a@1', 'ADDED b@3', 'MODIFIED a@4', 'DELETED b@6'];
  for (const [from, skipped] of [
    [0, 0],
    [1, 1],
    [2, 1],
    [3, 2],
    [5, 3],
    [6, 4],
  ] as const) {
    expect(read(watch(cache, from))).toEqual(all.slice(skipped));
  }
});

test('events that the cache already shows are ignored', () => {
  const { cache, put } = harness();
  put('a', 5);
  cache.advance(5);
  put('a', 5);
  put('old', 3);
  expect(read(watch(cache, undefined))).toEqual(['ADDED a@5']);
  expect(cache.size).toBe(1);
});

test('watchers with the same selection share one encoded response', () => {
  const { cache, put } = harness();
  const [first, second, other] = [watch(cache, 0), watch(cache, 0), watch(cache, 0, { labelSelector: 'x=1' })];
  put('a', 1);
  cache.advance(1);
  for (const source of [first, second]) read(source);
  put('b', 2, { x: '1' });
  cache.advance(2);
  const chunk = first.next();
  expect(second.next()).toBe(chunk);
  expect(other.next()).not.toBe(chunk);
});

test('many that come back from the same version share one encoded response, from their first on', () => {
  const { cache, put } = harness();
  for (let revision = 1; revision < 50; revision++) put(`a${revision}`, revision);
  cache.advance(49);
  const frames = new Set(Array.from({ length: 100 }, () => watch(cache, 10).next()));
  expect(frames.size).toBe(1);
});

test('frames are kept for watchers with the same selection, and dropped with the last of them', () => {
  const { cache, put } = harness();
  const [first, second, other] = [watch(cache, 0), watch(cache, 0), watch(cache, 0, { labelSelector: 'x=1' })];
  put('a', 1, { x: '1' });
  cache.advance(1);
  for (const source of [first, second, other]) read(source);
  const all = cache.frames.size;
  first.close();
  first.close();
  expect(cache.frames.size).toBe(all);
  second.close();
  expect(cache.frames.size).toBeGreaterThan(0);
  expect(cache.frames.size).toBeLessThan(all);
  const late = watch(cache, 0);
  expect(read(late)).toEqual(['ADDED a@1']);
  for (const source of [other, late]) source.close();
  expect(cache.frames.size).toBe(0);
});

test('frames are kept for 15 s, also when nothing changes any more', () => {
  const { cache, put, tick } = harness();
  const source = watch(cache, 0);
  put('a', 1);
  cache.advance(1);
  read(source);
  tick(14_000);
  cache.advance(2);
  expect(cache.frames.size).toBeGreaterThan(0);
  tick(2_000);
  cache.advance(3);
  expect(cache.frames.size).toBe(0);
  put('a', 4);
  cache.advance(4);
  expect(read(source)).toEqual(['MODIFIED a@4']);
});

test.each([
  ['five minutes, those of an object', configMap, 299_000],
  ['five minutes, those of an Event', event, 299_000],
  ['a minute, those of a Lease, of which only the newest counts', lease, 59_000],
])('changes are kept for %s', (_, kind, keptMs) => {
  let now = 0;
  const never = () => ({});
  const cache = new KindCache(kind, { clock: { now: () => now, setTimeout: never, setImmediate: never } });
  cache.apply(change('put', 'a', 1, {}));
  now += keptMs;
  cache.advance(2);
  expect(cache.ring.startRevision).toBe(0);
  now += 2_000;
  cache.advance(3);
  expect(cache.ring.startRevision).toBe(1);
});

test('decoded objects are kept for other readers as far as their number and their bytes are bounded', () => {
  const { cache, put } = harness();
  const count = (size: number) => {
    for (let i = 0; i < 200; i++) put(`c${i}`, cache.ring.endSequence + 1, { x: 'y'.repeat(size) });
    const entries = cache.range('configmaps/');
    const decoded = entries.map((entry) => cache.decoder.decode(entry));
    // From the last on, as the first that is missing displaces another.
    let kept = 0;
    while (kept < 200 && cache.decoder.decode(entries[199 - kept]!) === decoded[199 - kept]) kept++;
    return kept;
  };
  expect(count(10)).toBe(128);
  const large = count(100_000);
  expect(large).toBeGreaterThan(8);
  expect(large).toBeLessThan(12);
});

test('those that begin with the present share what they have to read', () => {
  const { cache, put } = harness();
  put('a', 1);
  const before = cache.range('configmaps/');
  expect(cache.range('configmaps/')).toBe(before);
  put('b', 2);
  expect(before).toHaveLength(1);
  expect(cache.range('configmaps/')).toHaveLength(2);
});

test('a watcher that is far behind gets frames of a bounded size, each shared with others at its place', () => {
  const { cache, put } = harness();
  for (let revision = 1; revision < 200; revision++) put('a', revision, { x: 'y'.repeat(3_000) });
  cache.advance(199);
  const [one, two] = [watch(cache, 0), watch(cache, 0)];
  const sizes: number[] = [];
  for (let frame = one.next(); frame; frame = one.next()) {
    sizes.push(frame.length);
    expect(two.next()).toBe(frame);
  }
  expect(Math.max(...sizes)).toBeLessThan(70_000);
  expect(sizes.length).toBeGreaterThan(8);
});

test('a frame that ended where the ring ended is made anew once more has come', () => {
  const { cache, put } = harness();
  put('a', 1);
  cache.advance(1);
  const [early, late] = [watch(cache, 0), watch(cache, 0)];
  expect(read(early)).toEqual(['ADDED a@1']);
  put('a', 2);
  cache.advance(2);
  expect(read(late)).toEqual(['ADDED a@1', 'MODIFIED a@2']);
  expect(read(early)).toEqual(['MODIFIED a@2']);
});

test('the ring counts what stands around objects, and what a deletion held, against its bytes', () => {
  const { cache, put, remove } = harness({ maxBytes: 10_000 });
  for (let revision = 1; revision <= 20; revision++) put('small', revision);
  const puts = cache.ring.endSequence - cache.ring.firstSequence;
  expect(puts).toBeGreaterThan(8);
  expect(puts).toBeLessThan(13);
  const big = { x: 'y'.repeat(4_700) };
  put('big', 21, big);
  remove('big', 22, big);
  expect(cache.ring.endSequence - cache.ring.firstSequence).toBe(0);
});

test('a cache is filled from the pages of a list, and shows the old state until all are there', async () => {
  const { cache, put } = harness();
  put('old', 1);
  cache.advance(1);
  const item = (name: string, revision: number) => change('put', name, revision, {});
  async function* pages() {
    yield { items: [item('a', 3)], revision: 7, more: true };
    expect(cache.get('configmaps/default/old')).toBeDefined();
    yield { items: [item('b', 5)], revision: 7, more: false };
  }
  expect(await cache.load(pages())).toBe(7);
  expect(cache.range('configmaps/').map(({ key, revision }) => `${key}@${revision}`)).toEqual([
    'configmaps/default/a@3',
    'configmaps/default/b@5',
  ]);
  expect(cache.revision).toBe(7);
  expect(cache.bytes).toBe(cache.get('configmaps/default/a')!.bytes.length * 2);
});

test('the ring forgets by age and by count, and says from where it knows', () => {
  const { cache, put, tick } = harness({ maxAgeMs: 100, maxEvents: 3 });
  put('a', 1);
  tick(60);
  put('b', 2);
  tick(60);
  put('c', 3);
  cache.advance(3);
  expect(() => watch(cache, 0)).toThrow(/kept from version 1 on/);
  expect(read(watch(cache, 1))).toEqual(['ADDED b@2', 'ADDED c@3']);
  for (let revision = 4; revision < 9; revision++) put('c', revision);
  cache.advance(8);
  expect(cache.ring.startRevision).toBe(5);
});

test('the ring of a kind that rests forgets by age when others change, and expires no watcher that has read it', () => {
  const { cache, put, tick } = harness({ maxAgeMs: 100 });
  put('a', 1);
  put('b', 2);
  cache.advance(2);
  const reader = watch(cache, 0);
  expect(read(reader)).toEqual(['ADDED a@1', 'ADDED b@2']);
  tick(101);
  cache.advance(3);
  expect(cache.ring.endSequence - cache.ring.firstSequence).toBe(0);
  expect(read(watch(cache, 2))).toEqual([]);
  expect(() => watch(cache, 1)).toThrow(/kept from version 2 on/);
  put('c', 4);
  cache.advance(4);
  expect(read(reader)).toEqual(['ADDED c@4']);
});

test('a watcher that falls behind the ring is told that it is lost', () => {
  const { cache, put } = harness({ maxEvents: 2 });
  const source = watch(cache, 0);
  for (let revision = 1; revision < 6; revision++) put('a', revision);
  cache.advance(5);
  expect(source.lost).toBe(true);
  expect(() => source.next()).toThrow(/list again/);
});

test('all that happened before a batch wakes watchers once', () => {
  const { cache, put, batches } = harness();
  let woken = 0;
  cache.batcher.add(() => woken++);
  put('a', 1);
  put('a', 2);
  expect(batches).toHaveLength(1);
  batches.pop()!();
  expect(woken).toBe(1);
});

test('an observer that throws is passed over: the cache and its other observers go on', () => {
  const { cache, put } = harness();
  const seen: string[] = [];
  const fail = (): never => {
    throw new Error('unreadable');
  };
  cache.observe({ reset: fail, event: fail });
  cache.observe({ reset: () => void seen.push('reset'), event: ({ entry }) => void seen.push(entry.key) });
  put('a', 1);
  cache.advance(1);
  cache.reset([], 2);
  expect(seen).toEqual(['reset', 'configmaps/default/a', 'reset']);
  expect(cache.revision).toBe(2);
});

test('bytes that are no message are kept as they are', () => {
  const { cache } = harness();
  cache.apply({ ...change('put', 'a', 1, {}), bytes: Buffer.from('ff', 'hex') });
  expect(cache.get('configmaps/default/a')?.bytes.toString('hex')).toBe('ff');
});

test('waiting for a version ends when the feed has come there, whatever the kind of the change', async () => {
  const { cache } = harness();
  const reached = cache.reached(7, 60_000);
  cache.advance(7);
  expect(await reached).toBe(true);
});

test('ranges of the past are made from the present and the ring, for every revision that the ring reaches', () => {
  const { cache, put, remove } = harness({ maxEvents: 150 });
  const states: string[][] = [[]];
  const state = new Map<string, number>();
  // A fixed walk over few keys, so that each is created, changed and deleted several times.
  for (let revision = 1; revision <= 200; revision++) {
    const name = `c${String((revision * 7 + (revision >> 3)) % 11).padStart(2, '0')}`;
    if (state.has(name) && revision % 3 === 0) {
      remove(name, revision);
      state.delete(name);
    } else {
      put(name, revision);
      state.set(name, revision);
    }
    cache.advance(revision);
    states.push([...state].map(([key, version]) => `configmaps/default/${key}@${version}`).sort());
  }
  expect(cache.rangeAt('configmaps/', 49, '')).toBeUndefined();
  for (let revision = 50; revision <= 200; revision++) {
    const range = (after: string) =>
      cache.rangeAt('configmaps/', revision, after)!.map((entry) => `${entry.key}@${entry.revision}`);
    const wanted = states[revision]!;
    expect(range('')).toEqual(wanted);
    expect(range('configmaps/default/c04')).toEqual(wanted.filter((each) => each.split('@')[0]! > 'configmaps/default/c04'));
  }
  expect(cache.rangeAt('configmaps/elsewhere/', 100, '')).toEqual([]);
});

test('the cache and the store hold the bytes of an expiring object once, when it has left the ring', () => {
  let now = 0;
  const clock = { now: () => now, setTimeout: () => ({}), setImmediate: () => undefined };
  const cache = new KindCache(event, { bounds: { maxAgeMs: 1_000 }, clock });
  const bytes = encodeMessage(event.message, { metadata: { name: 'a', namespace: 'default' }, reason: 'Created' });
  const written = new RestingEvent({ key: 'events/default/a', revision: 7, bytes, memo: {} });
  cache.apply(written);
  const held = () => cache.get('events/default/a')!;
  const before = held().bytes;
  expect(held().bytes).toBe(before);
  written.rest();
  now = 2_000;
  cache.advance(8);
  expect(held().bytes).toEqual(before);
  expect(held().bytes).not.toBe(held().bytes);
  expect(cache.bytes).toBe(before.length);
});

test('an expiring object that was read from the store is at rest, and served with its version', () => {
  const cache = new KindCache(event);
  const bytes = encodeMessage(event.message, { metadata: { name: 'a', namespace: 'default' }, reason: 'Created' });
  cache.reset([{ key: 'events/default/a', revision: 7, bytes }], 7);
  const entry = cache.get('events/default/a')!;
  expect(decodeMessage(event.message, entry.bytes)).toMatchObject({ metadata: { resourceVersion: '7' }, reason: 'Created' });
  expect(entry.bytes).not.toBe(entry.bytes);
  expect(cache.bytes).toBe(entry.bytes.length);
});

test('an event that has left the ring is held no longer', async () => {
  const { cache, put, tick } = harness({ maxAgeMs: 1_000 });
  put('a', 1);
  const dropped = new WeakRef(cache.ring.at(cache.ring.firstSequence)!);
  put('a', 2);
  tick(2_000);
  cache.advance(3);
  expect(cache.ring.firstSequence).toBe(cache.ring.endSequence);
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  expect(dropped.deref()).toBeUndefined();
});

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}
