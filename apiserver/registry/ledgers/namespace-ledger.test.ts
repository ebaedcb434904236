import { expect, test } from 'vitest';
import { encodeMessage } from '../../../api/codec/message.ts';
import { kindNamed } from '../../../api/kinds/index.ts';
import { KindCache } from '../../watch/kind-cache.ts';
import { NamespaceLedger } from './namespace-ledger.ts';

const kind = kindNamed('ConfigMap');
const subject = { kind: 'ConfigMap', name: 'a' };
const key = (name: string) => `configmaps/team/${name}`;
const bytesOf = (size: number) => encodeMessage(kind.message, { metadata: { name: 'a' }, data: { x: 'x'.repeat(size) } });

/** An object of so many elements: its metadata is one. */
const elements = (count: number) => {
  const data = Object.fromEntries(Array.from({ length: count - 1 }, (_, i) => [`k${i}`, '']));
  return encodeMessage(kind.message, { metadata: { name: 'a' }, data });
};

/** A ledger over an empty cache, and how the cache goes on. */
function createLedger(limits = {}) {
  const cache = new KindCache(kind);
  cache.reset([], 1);
  const ledger = new NamespaceLedger(limits);
  ledger.observe(cache);
  const change = (type: 'put' | 'delete', name: string, size: number, revision: number) => {
    cache.apply({ type, key: key(name), bytes: bytesOf(size), revision, durability: 'synced' });
    cache.advance(revision);
  };
  const held = () => {
    const { bytes, objects } = ledger.of('team');
    const entries = cache.range('configmaps/team/');
    const sum = entries.reduce((total, entry) => total + entry.key.length + entry.bytes.length, 0);
    return { bytes, objects, isExact: bytes === sum && objects === entries.length };
  };
  return { cache, ledger, change, held };
}

test('counts what the cache shows, to the byte, through creations, changes, deletions and a new beginning', () => {
  const { cache, change, held } = createLedger();
  change('put', 'a', 1_000, 2);
  change('put', 'b', 500, 3);
  change('put', 'a', 10, 4);
  expect(held()).toMatchObject({ objects: 2, isExact: true });
  change('delete', 'b', 500, 5);
  expect(held()).toMatchObject({ objects: 1, isExact: true });
  cache.reset([{ key: key('c'), bytes: bytesOf(20), revision: 6 }], 6);
  expect(held()).toMatchObject({ objects: 1, isExact: true });
  change('delete', 'c', 20, 7);
  expect(held()).toEqual({ bytes: 0, objects: 0, isExact: true });
});

test('counts a write from the moment it is planned, once, until the cache shows it or it has failed', () => {
  const { cache, ledger, change, held } = createLedger({ objects: 2 });
  const plan = (name: string) => ledger.reserve({ key: key(name), bytes: bytesOf(10) }, cache);
  const [first, second] = [plan('a'), plan('b')];
  expect(() => ledger.check({ key: key('c'), bytes: bytesOf(10) }, subject, cache)).toThrow(
    'configmaps "a" is forbidden: namespace "team" holds 2 objects and may hold 2 (berth server --namespace-objects); this takes 1 more',
  );
  second?.cancel();
  expect(held().objects).toBe(1);
  first?.settle(2);
  expect(held().objects).toBe(1);
  change('put', 'a', 10, 2);
  expect(held()).toMatchObject({ objects: 1, isExact: true });
  const late = plan('b');
  change('put', 'b', 10, 3);
  late?.settle(3);
  expect(held()).toMatchObject({ objects: 2, isExact: true });
});

test('keeps what is under way through a new beginning, and forgets what was stored before it', () => {
  const { cache, ledger, held } = createLedger();
  const stored = ledger.reserve({ key: key('a'), bytes: bytesOf(10) }, cache);
  const open = ledger.reserve({ key: key('b'), bytes: bytesOf(10) }, cache);
  stored?.settle(5);
  cache.reset([{ key: key('a'), bytes: bytesOf(10), revision: 5 }], 6);
  expect(held().objects).toBe(2);
  open?.cancel();
  expect(held()).toMatchObject({ objects: 1, isExact: true });
});

test('lets a full namespace shrink and stay as it is, and refuses a single byte more', () => {
  const { cache, ledger, change } = createLedger({ bytes: 985 });
  change('put', 'a', 940, 2);
  const replaces = cache.get(key('a'))!;
  const check = (size: number) => ledger.check({ key: key('a'), bytes: bytesOf(size), replaces }, subject, cache);
  expect(() => check(940)).not.toThrow();
  expect(() => check(10)).not.toThrow();
  expect(() => check(941)).toThrow('bytes and may hold 985 (berth server --namespace-bytes)');
  expect(ledger.refused).toEqual({ bytes: 1, objects: 0 });
});

test('bounds neither the namespaces of the system nor what belongs to none', () => {
  const { cache, ledger } = createLedger({ objects: 0 });
  for (const each of ['configmaps/kube-system/a', 'leases/kube-node-lease/n1', 'nodes/n1'])
    expect(() => ledger.check({ key: each, bytes: bytesOf(1) }, subject, cache)).not.toThrow();
  expect(() => ledger.check({ key: 'events/team/e', bytes: bytesOf(1) }, subject, cache)).toThrow('may hold 0');
});

test('counts an object of many elements with 256 bytes for each beyond the first ten, until it is gone', () => {
  const { cache, ledger } = createLedger();
  const put = (count: number, revision: number) => {
    cache.apply({ type: 'put', key: key('a'), bytes: elements(count), revision, durability: 'synced' });
    cache.advance(revision);
  };
  put(1_010, 2);
  expect(ledger.of('team')).toEqual({ bytes: key('a').length + 256_000, objects: 1 });
  put(110, 3);
  expect(ledger.of('team').bytes).toBe(key('a').length + 25_600);
  const planned = ledger.reserve({ key: key('b'), bytes: elements(1_010) }, cache);
  expect(ledger.of('team').bytes).toBe(key('a').length + 25_600 + key('b').length + 256_000);
  planned?.cancel();
  cache.reset([{ key: key('c'), bytes: elements(210), revision: 4 }], 4);
  expect(ledger.of('team').bytes).toBe(key('c').length + 51_200);
  cache.apply({ type: 'delete', key: key('c'), bytes: elements(210), revision: 5, durability: 'synced' });
  cache.advance(5);
  expect(ledger.of('team')).toEqual({ bytes: 0, objects: 0 });
});

test('refuses a change that makes an object of fewer bytes and more elements in a full namespace', () => {
  const { cache, ledger } = createLedger({ bytes: 30_000 });
  cache.apply({ type: 'put', key: key('a'), bytes: bytesOf(20_000), revision: 2, durability: 'synced' });
  cache.advance(2);
  const replaces = cache.get(key('a'))!;
  const check = (count: number) => ledger.check({ key: key('a'), bytes: elements(count), replaces }, subject, cache);
  expect(() => check(120)).not.toThrow();
  expect(() => check(200)).toThrow('may hold 30000 (berth server --namespace-bytes)');
});

test('counts an object that cannot be decoded by its bytes', () => {
  const { cache, ledger } = createLedger();
  cache.reset([{ key: key('damaged'), bytes: Buffer.from([10, 200, 1]), revision: 2 }], 2);
  expect(ledger.of('team')).toEqual({ bytes: key('damaged').length + 3, objects: 1 });
});
