import type { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import type { NodeNetwork } from '../../api/generated/types.ts';
import { isOfThisMachine } from './sources.ts';

const network = (name: string, address: string, podCIDR: string): NodeNetwork => ({
  metadata: { name },
  addresses: [address],
  podCIDRs: [podCIDR],
});
const four = (address: string, length: number) => ({ address, cidr: `${address}/${length}`, family: 'IPv4' });
const interfaces = {
  eth0: [four('192.0.2.1', 24), { address: 'fe80::1', cidr: 'fe80::1/64', family: 'IPv6' }],
  docker0: [four('172.17.0.1', 16)],
  'br-0123456789ab': [four('172.18.0.1', 16)],
  br0: [four('198.51.100.1', 24)],
  'br-lan': [four('203.0.113.1', 24)],
};
const networks = [
  network('n1', '192.0.2.1', '10.42.0.0/24'),
  network('beside', '192.0.2.1', '10.42.7.0/24'),
  network('n2', '192.0.2.2', '10.42.1.0/24'),
  network('odd', '192.0.2.1', 'nothing/24'),
];
const allows = (address: string): boolean =>
  isOfThisMachine(address, {
    ...{ nodeName: 'n1', range: '10.42.0.0/24', networks },
    interfaces: (() => interfaces) as unknown as typeof networkInterfaces,
  });

describe('whether a connection is of this machine', () => {
  it.each([
    ['10.42.0.17', 'a pod of the node'],
    ['10.42.7.3', 'a pod of another node on this machine'],
    ['192.0.2.1', 'the machine'],
    ['172.17.0.5', 'a pod in the engine’s network'],
    ['172.18.3.4', 'a pod in a network that the engine made'],
  ])('is so for %s, %s', (address) => expect(allows(address)).toBe(true));

  it.each([
    ['10.42.1.17', 'a pod of another machine'],
    ['192.0.2.2', 'another machine on the same link'],
    ['198.51.100.7', 'a neighbour on a bridge of the machine'],
    ['203.0.113.7', 'a neighbour on a bridge with a name like the engine’s'],
    ['fe80::1', 'not IPv4'],
    ['', 'nothing, because it is closed already'],
  ])('is not so for "%s", %s', (address) => expect(allows(address)).toBe(false));
});
