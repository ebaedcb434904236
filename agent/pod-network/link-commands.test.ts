import { expect, it } from 'vitest';
import { parseAddressRange } from '../../api/meta/address-range.ts';
import { isOurs, linkNameOf, macOf, podCommands, tagOf } from './link-commands.ts';
import { hopTo, routeCommands } from './node-routes.ts';

it('gives each link a name of 15 characters that says nothing of others', () => {
  const owner = { dataDir: '/d', nodeName: 'n' };
  const ifname = linkNameOf(owner, '10.42.1.2');
  expect(ifname).toMatch(/^bth[0-9a-f]{12}$/);
  expect(ifname).not.toBe(linkNameOf({ ...owner, nodeName: 'm' }, '10.42.1.2'));
  expect(isOurs({ ifname, ifalias: `berth ${tagOf(owner)}` }, owner)).toBe(true);
  expect(isOurs({ ifname, ifalias: `berth ${tagOf({ ...owner, nodeName: 'm' })}` }, owner)).toBe(false);
  expect(isOurs({ ifname: 'veth123', ifalias: `berth ${tagOf(owner)}` }, owner)).toBe(false);
});

it('holds what a pod sends to the room of all ways by its route, where that is less than its link has', () => {
  const routeOf = (mtu: number) => podCommands({ address: '10.42.1.2', linkMtu: 1_500, mtu }).at(-1);
  expect(routeOf(1_500)).toBe('route replace default via 169.254.1.1 dev eth0 src 10.42.1.2');
  expect(routeOf(1_450)).toBe('route replace default via 169.254.1.1 dev eth0 src 10.42.1.2 mtu 1450');
});

it('computes hardware addresses that are no vendor’s', () => expect(macOf('10.42.1.2')).toBe('0a:58:0a:2a:01:02'));

it.each([
  ['[{"dst":"10.0.0.2","dev":"eth0","prefsrc":"10.0.0.1"}]', { dev: 'eth0' }],
  ['[{"dst":"10.9.0.2","gateway":"10.0.0.254","dev":"eth0"}]', { dev: 'eth0', via: '10.0.0.254' }],
  ['[{"type":"local","dst":"10.0.0.1","dev":"lo"}]', undefined],
  ['[]', undefined],
])('reads of %s the way to a neighbour', (answer, hop) => expect(hopTo(answer)).toEqual(hop));

it('leads to pods with the size that was measured, and to the gateway without', () => {
  const neighbour = { name: 'h2', address: '10.0.0.2', range: parseAddressRange('10.42.2.0/24') };
  const direct = { way: 'direct', dev: 'eth0' } as const;
  expect(routeCommands(neighbour, direct).routes).toEqual(['route replace 10.42.2.0/24 via 10.0.0.2 dev eth0']);
  expect(routeCommands(neighbour, direct, 1_350).routes).toEqual([
    'route replace 10.42.2.1/32 via 10.0.0.2 dev eth0',
    'route replace 10.42.2.0/24 via 10.0.0.2 dev eth0 mtu 1350',
  ]);
  expect(routeCommands(neighbour, { ...direct, via: '10.0.0.254' }).routes).toEqual([
    'route replace 10.42.2.0/24 via 10.0.0.254 dev eth0',
  ]);
});
