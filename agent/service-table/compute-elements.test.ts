import { expect, it } from 'vitest';
import { endpoint, port, tableService, terminating } from '../../test/builders/table-service.ts';
import { computeHeldElements, computeServiceContent } from './compute-elements.ts';
import type { HeldPort, TableService } from './service.ts';

const settings = { node: 'node1', podRanges: ['10.42.0.0/16'], serviceRanges: ['10.43.0.0/16'] };

/** "set key : value" of every element, sorted. */
function listed(service: TableService, held: readonly HeldPort[] = []): string[] {
  const { elements } = computeServiceContent(service, settings, held);
  return [...new Set(elements.map(({ set, key, value }) => `${set} ${key}${value && ` : ${value}`}`))].sort();
}

const away = (address: string) => endpoint(address, 8080, { node: 'node2' });

it('maps a cluster address to the chain for the number of ready endpoints, and each index to one of them', () => {
  const notReady = endpoint('10.42.0.3', 8080, { ready: false });
  expect(listed(tableService('10.43.0.1', [port(80, [away('10.42.1.2'), endpoint('10.42.0.1'), notReady])]))).toEqual([
    'endpoints 10.43.0.1 . tcp . 80 . 0 : 10.42.0.1 . 8080',
    'endpoints 10.43.0.1 . tcp . 80 . 1 : 10.42.1.2 . 8080',
    'hairpin 10.42.0.1 . 10.42.0.1',
    'services 10.43.0.1 . tcp . 80 : goto address_any_2',
  ]);
});

it('refuses a port without endpoints, and drops with policy Local what has endpoints elsewhere only', () => {
  expect(listed(tableService('10.43.0.1', [port(53, [], { protocol: 'UDP' })]))).toEqual([
    'services 10.43.0.1 . udp . 53 : goto refuse',
  ]);
  const local: Partial<TableService> = { internalPolicy: 'Local' };
  expect(listed(tableService('10.43.0.1', [port(80, [away('10.42.1.2')])], local))).toEqual([
    'services 10.43.0.1 . tcp . 80 : drop',
  ]);
  expect(listed(tableService('10.43.0.1', [port(80, [])], local))).toEqual(['services 10.43.0.1 . tcp . 80 : goto refuse']);
});

it.each([
  ['ready before terminating', [endpoint('10.42.0.1'), terminating('10.42.0.2')], {}, '10.42.0.1'],
  ['terminating when none is ready', [terminating('10.42.0.2'), endpoint('10.42.0.3', 8080, { ready: false })], {}, '10.42.0.2'],
  ['no terminating one that does not serve', [terminating('10.42.0.2', 8080, { serving: false })], {}, undefined],
  [
    'all of a Service that publishes addresses that are not ready',
    [endpoint('10.42.0.3', 8080, { ready: false, serving: false })],
    { publishNotReadyAddresses: true },
    '10.42.0.3',
  ],
  ['no IPv6 address and no impossible port', [endpoint('fd00::1'), endpoint('10.42.0.4', 0)], {}, undefined],
])('uses %s', (_, endpoints, more, expected) => {
  const targets = listed(tableService('10.43.0.1', [port(80, endpoints)], more)).filter((line) => line.startsWith('endpoints'));
  expect(targets).toEqual(expected === undefined ? [] : [`endpoints 10.43.0.1 . tcp . 80 . 0 : ${expected} . 8080`]);
});

it('sends external addresses and node ports to all endpoints, and hides the client, with policy Cluster', () => {
  const service = tableService('10.43.0.1', [port(80, [away('10.42.1.2')], { nodePort: 30080 })], {
    clusterAddresses: [],
    externalAddresses: ['198.51.100.1', 'fd00::1'],
    loadBalancerAddresses: ['198.51.100.2'],
  });
  expect(listed(service)).toEqual([
    'endpoints 198.51.100.1 . tcp . 80 . 0 : 10.42.1.2 . 8080',
    'endpoints 198.51.100.2 . tcp . 80 . 0 : 10.42.1.2 . 8080',
    'external 198.51.100.1 . tcp . 80',
    'external 198.51.100.2 . tcp . 80',
    'external_ports tcp . 30080',
    'masqueraded_ports tcp . 30080',
    'port_endpoints tcp . 30080 . 0 : 10.42.1.2 . 8080',
    'ports tcp . 30080 : goto port_any_1',
    'services 198.51.100.1 . tcp . 80 : goto address_any_1',
    'services 198.51.100.2 . tcp . 80 : goto address_any_1',
    'sources 198.51.100.1 . tcp . 80 : goto masquerade_it',
    'sources 198.51.100.2 . tcp . 80 : goto masquerade_it',
  ]);
});

it('sends what comes from outside to endpoints of this node only, with the client address, with policy Local', () => {
  const service = tableService('10.43.0.1', [port(80, [endpoint('10.42.0.1'), away('10.42.1.2')], { nodePort: 30080 })], {
    clusterAddresses: [],
    loadBalancerAddresses: ['198.51.100.2'],
    externalPolicy: 'Local',
  });
  expect(listed(service)).toEqual([
    'endpoints 198.51.100.2 . tcp . 80 . 0 : 10.42.0.1 . 8080',
    'endpoints 198.51.100.2 . tcp . 80 . 1 : 10.42.1.2 . 8080',
    'endpoints 198.51.100.2 . tcp . 80 . 1048576 : 10.42.0.1 . 8080',
    'external 198.51.100.2 . tcp . 80',
    'external_ports tcp . 30080',
    'hairpin 10.42.0.1 . 10.42.0.1',
    'outside 198.51.100.2 . tcp . 80 : goto address_outside_1',
    'outside_ports tcp . 30080 : goto port_outside_1',
    'port_endpoints tcp . 30080 . 0 : 10.42.0.1 . 8080',
    'port_endpoints tcp . 30080 . 1 : 10.42.1.2 . 8080',
    'port_endpoints tcp . 30080 . 1048576 : 10.42.0.1 . 8080',
    'ports tcp . 30080 : goto port_any_2',
    'services 198.51.100.2 . tcp . 80 : goto address_any_2',
    'sources 198.51.100.2 . tcp . 80 : return',
  ]);
});

it('names endpoints by their address where clients stay with one', () => {
  const service = tableService('10.43.0.1', [port(80, [away('10.42.1.2')])], { affinitySeconds: 10_800 });
  expect(listed(service)).toEqual([
    'choices 10.43.0.1 . tcp . 80 . 0 : 0x0a2a0102',
    'living 10.43.0.1 . tcp . 80 . 0x0a2a0102 : 10.42.1.2 . 8080',
    'services 10.43.0.1 . tcp . 80 : goto address_any_1_for_10800',
  ]);
  expect(computeServiceContent(service, settings).chains).toHaveLength(1);
});

it('leaves a node port out that another program holds on all addresses, and names single addresses', () => {
  const service = tableService('10.43.0.1', [port(80, [], { nodePort: 30080 }), port(81, [], { nodePort: 30081 })], {
    clusterAddresses: [],
  });
  const held: HeldPort[] = [
    { protocol: 'TCP', port: 30080 },
    { protocol: 'UDP', port: 30081 },
    { address: '127.0.0.1', protocol: 'TCP', port: 30081 },
  ];
  expect(listed(service, held).filter((line) => line.startsWith('ports'))).toEqual(['ports tcp . 30081 : goto refuse']);
  expect(computeHeldElements(held)).toEqual([{ set: 'held', key: '127.0.0.1 . tcp . 30081', value: '', rank: 0 }]);
});

it('guards load balancer addresses with the sources that may use them, and closes their node ports there', () => {
  const service = tableService('10.43.0.1', [port(80, [], { nodePort: 30080 }), port(53, [], { protocol: 'UDP' })], {
    externalAddresses: ['198.51.100.1'],
    loadBalancerAddresses: ['198.51.100.2'],
    sourceRanges: ['10.0.0.0/8', 'fd00::/8'],
  });
  expect(listed(service).filter((line) => /^(guarded|allowed|held)/.test(line))).toEqual([
    'allowed 198.51.100.2 . tcp . 80 : 10.0.0.0/8 198.51.100.2/32',
    'allowed 198.51.100.2 . udp . 53 : 10.0.0.0/8 198.51.100.2/32',
    'guarded 198.51.100.2 . tcp . 80',
    'guarded 198.51.100.2 . udp . 53',
    'held 198.51.100.2 . tcp . 30080',
  ]);
  expect(listed({ ...service, sourceRanges: ['0.0.0.0/0'] }).join()).not.toMatch(/guarded|allowed/);
});

it('gives no external address in the ranges of pods and of cluster addresses', () => {
  const addresses = ['10.43.0.1', '10.43.0.10', '10.42.1.1', '198.51.100.1'];
  const service = tableService('10.43.0.1', [port(80, [away('10.42.1.2')])], {
    ...{ clusterAddresses: [], externalAddresses: addresses, loadBalancerAddresses: addresses },
  });
  const services = listed(service).filter((line) => line.startsWith('services'));
  expect(services).toEqual(['services 198.51.100.1 . tcp . 80 : goto address_any_1']);
});

it('ranks what was given out before what a Service or pod asks for', () => {
  const parts = { externalAddresses: ['198.51.100.1'], loadBalancerAddresses: ['198.51.100.2'] };
  const service = tableService('10.43.0.1', [port(80, [], { nodePort: 30080 })], parts);
  const rankOf = (key: string, more: Partial<TableService> = {}) =>
    computeServiceContent({ ...service, ...more }, settings).elements.find((element) => element.key === key)?.rank ?? -1;
  const keys = ['10.43.0.1 . tcp . 80', '198.51.100.2 . tcp . 80', 'tcp . 30080', '198.51.100.1 . tcp . 80'];
  const found = [...keys.map((key) => rankOf(key)), rankOf('tcp . 30080', { isHeldByAgent: true })];
  expect(found).toEqual(found.toSorted((a, b) => a - b));
  expect(new Set(found).size).toBe(5);
});
