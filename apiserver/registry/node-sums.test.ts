import { expect, test } from 'vitest';
import { encodeMessage } from '../../api/codec/message.ts';
import type { Pod } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { pod } from '../../test/builders/index.ts';
import { KindCache } from '../watch/kind-cache.ts';
import { NodeSums } from './node-sums.ts';

const kind = kindNamed('Pod');
const key = 'pods/default/a';
const one = pod('a').requests({ cpu: '1' });

/** Sums over a cache that shows the pod "a" in revision 1, and how the cache goes on. */
function createSums() {
  const cache = new KindCache(kind);
  const stored = (object: Pod, revision: number) => ({ key, bytes: encodeMessage(kind.message, object), revision });
  cache.reset([stored(one.build(), 1)], 1);
  const sums = new NodeSums(cache);
  sums.observe();
  return {
    sums,
    cpu: (node = 'n1') => sums.without(node, 'pods/default/other').cpu ?? 0,
    show(object: Pod, revision: number) {
      cache.apply({ type: 'put', ...stored(object, revision), durability: 'synced' });
      cache.advance(revision);
    },
    remove(revision: number) {
      cache.apply({ type: 'delete', ...stored(one.build(), revision), durability: 'synced' });
      cache.advance(revision);
    },
    reload: (revision: number) => cache.reset([], revision),
  };
}

test('a second binding of a pod does not take the room of the first, and ends only its own', () => {
  const { sums, cpu, show } = createSums();
  const first = sums.reserve(key, 'n1', one.build());
  const second = sums.reserve(key, 'n2', one.build());
  expect([cpu('n1'), cpu('n2')]).toEqual([1000, 1000]);
  second.cancel();
  second.cancel();
  expect([cpu('n1'), cpu('n2')]).toEqual([1000, 0]);
  show(one.on('n1').build(), 2);
  first.settle(2);
  expect(cpu('n1')).toBe(1000);
});

test('all reservations of a pod are left out of what its node has without it', () => {
  const { sums } = createSums();
  sums.reserve(key, 'n1', one.build());
  sums.reserve(key, 'n1', one.build());
  expect(sums.without('n1', key).cpu).toBe(0);
});

test('a pod that shows up bound ends every reservation of it', () => {
  const { sums, cpu, show } = createSums();
  sums.reserve(key, 'n1', one.build());
  sums.reserve(key, 'n2', one.build());
  show(one.on('n1').build(), 2);
  expect([cpu('n1'), cpu('n2')]).toEqual([1000, 0]);
});

test('a pod that shows up bound and finished takes nothing', () => {
  const { sums, cpu, show } = createSums();
  sums.reserve(key, 'n1', one.build());
  show(one.on('n1').phase('Failed').build(), 2);
  expect(cpu()).toBe(0);
});

test('what else happens to a pod leaves its reservation alone while the binding is under way', () => {
  const { sums, cpu, show } = createSums();
  sums.reserve(key, 'n1', one.build());
  show(one.labels({ a: 'b' }).build(), 2);
  expect(cpu()).toBe(1000);
});

test('a binding that is stored and not shown yet goes on counting until the cache is past it', () => {
  const { sums, cpu, remove } = createSums();
  const reservation = sums.reserve(key, 'n1', one.build());
  reservation.settle(2);
  expect(cpu()).toBe(1000);
  remove(3);
  expect(cpu()).toBe(0);
});

test('a cache that starts afresh ends the reservations of the bindings that it is past, and of no others', () => {
  const { sums, cpu, reload } = createSums();
  sums.reserve(key, 'n1', one.build()).settle(5);
  const underWay = sums.reserve('pods/default/b', 'n1', one.build());
  reload(4);
  expect(cpu()).toBe(2000);
  reload(5);
  expect(cpu()).toBe(1000);
  underWay.settle(5);
  expect(cpu()).toBe(0);
});
