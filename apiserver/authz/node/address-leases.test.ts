import { expect, test } from 'vitest';
import { encodeMessage } from '../../../api/codec/message.ts';
import type { Lease } from '../../../api/generated/types.ts';
import { keyPrefixOf } from '../../../api/kinds/identity.ts';
import { kindNamed } from '../../../api/kinds/index.ts';
import { timestamp } from '../../../api/meta/time.ts';
import { KindCache } from '../../watch/kind-cache.ts';
import { AddressLeases } from './address-leases.ts';

const kind = kindNamed('Lease');
const name = 'lb-192.0.2.1';
const prefix = keyPrefixOf(kind);
const key = `${prefix}kube-system/${name}`;
const renewedAt = (ms: number): Uint8Array =>
  encodeMessage(kind.message, {
    metadata: { name },
    spec: { holderIdentity: 'n1', renewTime: timestamp(new Date(ms)) },
  } as Lease);

function follow(...stored: Parameters<KindCache['reset']>[0][]) {
  const clock = { now: 1_000 };
  const cache = new KindCache(kind);
  cache.reset(
    stored.flatMap((each) => [...each]),
    5,
  );
  const leases = new AddressLeases(cache, () => clock.now);
  leases.observe();
  let revision = 5;
  const write = (bytes: Uint8Array, type: 'put' | 'delete' = 'put', at = key) =>
    cache.apply({ type, key: at, bytes, revision: ++revision, durability: 'relaxed' });
  return { clock, cache, leases, write };
}

test('counts from the last write, whatever the Lease says of its renewal', () => {
  const { clock, leases, write } = follow();
  for (const said of [0, Date.now() + 3_600_000]) {
    write(renewedAt(said));
    clock.now += 700;
    expect(leases.quietMs(name)).toBe(700);
  }
  write(renewedAt(0), 'delete');
  clock.now += 700;
  expect(leases.quietMs(name)).toBe(0);
  write(renewedAt(0), 'put', `${prefix}default/${name}`);
  clock.now += 700;
  expect(leases.quietMs(name)).toBe(0);
});

test.each([
  ['was renewed before', -10_000, 10_000],
  ['says a time to come', 3_600_000, 0],
])('at the start one that %s is as old as it says, and no newer than now', (_, said, quiet) => {
  const { leases } = follow([{ key, bytes: renewedAt(Date.now() + said), revision: 3 }]);
  expect(Math.abs(leases.quietMs(name) - quiet)).toBeLessThan(1_000);
});

test('keeps what it knows when the cache is loaded again', () => {
  const { clock, cache, leases, write } = follow();
  write(renewedAt(0));
  clock.now += 700;
  cache.reset([{ key, bytes: renewedAt(0), revision: 6 }], 7);
  expect(leases.quietMs(name)).toBe(700);
});
