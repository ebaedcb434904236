import { expect, it } from 'vitest';
import { endpoint, port, tableService, terminating } from '../../test/builders/table-service.ts';
import { parseUdpFlow } from './conntrack.ts';
import type { TableEndpoint } from './service.ts';
import { compareUdpFronts, computeUdpFronts, createFlowJudge, type UdpFlow } from './udp-flows.ts';

const dns = (...endpoints: TableEndpoint[]) =>
  computeUdpFronts(
    tableService('10.43.0.10', [port(53, endpoints, { protocol: 'UDP', nodePort: 30_053 }), port(53, endpoints)], {
      externalAddresses: ['198.51.100.1'],
    }),
  );
const none = computeUdpFronts(undefined);
const one = endpoint('10.42.0.1', 5353);
const two = endpoint('10.42.0.2', 5353);

function flow(destination: string, answering: string, replied = true): UdpFlow {
  const [to = '', toPort] = destination.split(':');
  const [from = '', fromPort] = answering.split(':');
  return { destination: to, destinationPort: Number(toPort), answering: from, answeringPort: Number(fromPort), replied };
}

const isStale = (before: ReturnType<typeof dns>, after: ReturnType<typeof dns>, of: UdpFlow): boolean =>
  createFlowJudge(after, compareUdpFronts(before, after).gone, ['10.43.0.0/16'])(of);

it.each([
  ['goes on with an endpoint that is left', dns(one, two), dns(one), flow('10.43.0.10:53', '10.42.0.1:5353'), false],
  ['ends with its endpoint', dns(one, two), dns(two), flow('10.43.0.10:53', '10.42.0.1:5353'), true],
  ['ends with its endpoint at another address', dns(one, two), dns(two), flow('198.51.100.1:53', '10.42.0.1:5353'), true],
  ['ends with its endpoint at a node port', dns(one, two), dns(two), flow('192.0.2.1:30053', '10.42.0.1:5353'), true],
  ['goes on at another port of the address', dns(one), dns(two), flow('198.51.100.1:54', '10.42.0.1:5353'), false],
  [
    'ends when its endpoint has another port',
    dns(one),
    dns(endpoint('10.42.0.1', 99)),
    flow('10.43.0.10:53', '10.42.0.1:5353'),
    true,
  ],
  ['ends when the Service shrinks to none', dns(one), dns(), flow('10.43.0.10:53', '10.42.0.1:5353'), true],
  ['ends with its Service', dns(one), none, flow('198.51.100.1:53', '10.42.0.1:5353'), true],
  ['ends with its Service at a node port', dns(one), none, flow('192.0.2.1:30053', '10.42.0.1:5353'), true],
  [
    'goes on while its endpoint terminates and serves',
    dns(one),
    dns(terminating('10.42.0.1', 5353), two),
    flow('10.43.0.10:53', '10.42.0.1:5353'),
    false,
  ],
  [
    'that was never translated ends when there is an endpoint',
    dns(),
    dns(one),
    flow('10.43.0.10:53', '10.43.0.10:53', false),
    true,
  ],
  ['that was never answered at a node port ends', none, dns(one), flow('192.0.2.1:30053', '192.0.2.1:30053', false), true],
  ['of others to a port of that number goes on', none, dns(one), flow('203.0.113.9:30053', '203.0.113.9:30053'), false],
  ['to an address of the range that no Service has ends', none, none, flow('10.43.9.9:53', '10.42.0.1:5353'), true],
  ['of others goes on', dns(one), none, flow('203.0.113.9:53', '203.0.113.9:53'), false],
])('a flow that %s', (_, before, after, of, expected) => {
  expect(isStale(before, after, of)).toBe(expected);
});

it('says whether flows may exist that were never translated', () => {
  expect(compareUdpFronts(none, dns(one)).appeared).toBe(true);
  expect(compareUdpFronts(dns(), dns(one)).appeared).toBe(true);
  expect(compareUdpFronts(dns(one), dns(one, two)).appeared).toBe(false);
  expect(computeUdpFronts(tableService('10.43.0.1', [port(80, [one])])).size).toBe(0);
});

it('reads lines of conntrack', () => {
  const answered =
    'udp      17 29 src=192.0.2.2 dst=10.43.0.10 sport=4000 dport=53 src=10.42.0.1 dst=192.0.2.2 sport=5353 dport=4000 [ASSURED] mark=0 use=1';
  expect(parseUdpFlow(answered)).toEqual(flow('10.43.0.10:53', '10.42.0.1:5353'));
  const unanswered =
    'udp      17 29 src=192.0.2.2 dst=10.43.0.10 sport=4000 dport=53 [UNREPLIED] src=10.43.0.10 dst=192.0.2.2 sport=53 dport=4000 use=1';
  expect(parseUdpFlow(unanswered)).toEqual(flow('10.43.0.10:53', '10.43.0.10:53', false));
  expect(parseUdpFlow('udp 17 29 src=fd00::1 dst=fd00::2 sport=1 dport=2 src=fd00::2 dst=fd00::1 sport=2 dport=1')).toBe(
    undefined,
  );
  expect(parseUdpFlow('conntrack v1.4.7 (conntrack-tools): 0 flow entries have been shown.')).toBe(undefined);
});
