import { expect, test } from 'vitest';
import { encodeMessage } from '../../../api/codec/message.ts';
import type { Service } from '../../../api/generated/types.ts';
import { keyPrefixOf } from '../../../api/kinds/identity.ts';
import { kindNamed } from '../../../api/kinds/index.ts';
import { KindCache } from '../../watch/kind-cache.ts';
import { BalancedAddresses } from './balanced-addresses.ts';

const kind = kindNamed('Service');
const address = '192.0.2.1';
const keyOf = (name: string) => `${keyPrefixOf(kind)}default/${name}`;
const bytesOf = (spec: Service['spec'] = { type: 'LoadBalancer' }, ...ips: string[]): Uint8Array =>
  encodeMessage(kind.message, {
    metadata: { name: 'x' },
    spec,
    status: { loadBalancer: { ingress: ips.map((ip) => ({ ip })) } },
  } as Service);

function follow() {
  const cache = new KindCache(kind);
  cache.reset([{ key: keyOf('a'), bytes: bytesOf(undefined, address), revision: 3 }], 5);
  const addresses = new BalancedAddresses(cache);
  addresses.observe();
  let revision = 5;
  const write = (name: string, bytes: Uint8Array, type: 'put' | 'delete' = 'put') =>
    cache.apply({ type, key: keyOf(name), bytes, revision: ++revision, durability: 'relaxed' });
  return { cache, addresses, write };
}

test('an address is had as long as one Service of type LoadBalancer has it', () => {
  const { cache, addresses, write } = follow();
  expect([addresses.has(address), addresses.has('192.0.2.2')]).toEqual([true, false]);
  write('b', bytesOf(undefined, address, '192.0.2.2'));
  write('a', bytesOf(), 'delete');
  expect([addresses.has(address), addresses.has('192.0.2.2')]).toEqual([true, true]);
  write('b', bytesOf(undefined, '192.0.2.2'));
  expect([addresses.has(address), addresses.has('192.0.2.2')]).toEqual([false, true]);
  cache.reset([{ key: keyOf('a'), bytes: bytesOf(undefined, address), revision: 20 }], 21);
  expect([addresses.has(address), addresses.has('192.0.2.2')]).toEqual([true, false]);
});

test.each([{ type: 'ClusterIP' }, { type: 'LoadBalancer', loadBalancerClass: 'example.com/other' }])(
  'a Service of %j has none',
  (spec) => {
    const { addresses, write } = follow();
    write('a', bytesOf(spec, address));
    expect(addresses.has(address)).toBe(false);
  },
);
