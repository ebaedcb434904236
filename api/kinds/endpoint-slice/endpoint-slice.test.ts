import { describe, expect, it } from 'vitest';
import type { Endpoint, EndpointSlice } from '../../generated/types.ts';
import { kindNamed } from '../index.ts';

const kind = kindNamed('EndpointSlice');
const fields = (list: readonly { field: string }[]): string[] => list.map(({ field }) => field);
const ip = (...addresses: string[]): Endpoint => ({ addresses });

function refused(slice: EndpointSlice): string[] {
  const object = structuredClone({ addressType: 'IPv4', ...slice });
  kind.defaults(object);
  return fields(kind.validate(object));
}

describe('an endpoint slice', () => {
  it.each<[string, EndpointSlice, string[]]>([
    ['endpoints and ports', { endpoints: [ip('10.42.0.5')], ports: [{ port: 80 }] }, []],
    ['nothing', {}, []],
    ['no type of addresses', { addressType: '' }, ['addressType']],
    ['a type that does not exist', { addressType: 'IP' }, ['addressType']],
    ['an endpoint without an address', { endpoints: [ip()] }, ['endpoints[0].addresses']],
    ['an address of the other family', { endpoints: [ip('fd00::1')] }, ['endpoints[0].addresses[0]']],
    ['a loopback address', { endpoints: [ip('127.0.0.1')] }, ['endpoints[0].addresses[0]']],
    ['names of hosts', { addressType: 'FQDN', endpoints: [ip('db.example.com')] }, []],
    ['a name without a dot', { addressType: 'FQDN', endpoints: [ip('db')] }, ['endpoints[0].addresses[0]']],
    ['101 addresses', { endpoints: [ip(...Array.from({ length: 101 }, (_, i) => `10.0.0.${i}`))] }, ['endpoints[0].addresses']],
    ['1001 endpoints', { endpoints: Array.from({ length: 1001 }, () => ip('10.0.0.1')) }, ['endpoints']],
    [
      'names that are none',
      { endpoints: [{ ...ip('10.0.0.1'), hostname: 'a.b', nodeName: 'A', zone: '-' }] },
      ['endpoints[0].hostname', 'endpoints[0].nodeName', 'endpoints[0].zone'],
    ],
    [
      'hints that are none',
      { endpoints: [{ ...ip('10.0.0.1'), hints: { forZones: [{ name: 'a' }, { name: 'a' }], forNodes: [{}] } }] },
      ['endpoints[0].hints.forZones[1].name', 'endpoints[0].hints.forNodes[0].name'],
    ],
    [
      'nine hints',
      { endpoints: [{ ...ip('10.0.0.1'), hints: { forZones: Array.from({ length: 9 }, (_, i) => ({ name: `z${i}` })) } }] },
      ['endpoints[0].hints.forZones'],
    ],
    ['two ports without a name', { ports: [{ port: 80 }, { port: 81 }] }, ['ports[1].name']],
    ['any port', { ports: [{ name: 'a' }] }, []],
    [
      'a port that is none',
      { ports: [{ name: 'A', port: 0, protocol: 'HTTP', appProtocol: 'a b' }] },
      ['ports[0].name', 'ports[0].port', 'ports[0].protocol', 'ports[0].appProtocol'],
    ],
    [
      'too many topology keys',
      {
        endpoints: [
          { ...ip('10.0.0.1'), deprecatedTopology: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, ''])) },
        ],
      },
      ['endpoints[0].deprecatedTopology'],
    ],
  ])('is judged when it has %s', (_title, slice, expected) => expect(refused(slice)).toEqual(expected));

  it('has ports with a name and a protocol', () => {
    const object: EndpointSlice = { ports: [{ port: 80 }] };
    kind.defaults(object);
    expect(object.ports).toEqual([{ port: 80, name: '', protocol: 'TCP' }]);
  });

  it('keeps its type of addresses', () => {
    expect(fields(kind.validateUpdate({ addressType: 'IPv6' }, { addressType: 'IPv4' }))).toEqual(['addressType']);
  });

  it('is shown with three of its ports and addresses', () => {
    const cells = (slice: EndpointSlice) => kind.columns.slice(1, 4).map(({ cell }) => cell(slice, new Date()));
    expect(cells({ addressType: 'IPv4' })).toEqual(['IPv4', '<unset>', '<unset>']);
    const endpoints = [1, 2, 3, 4, 5].map((i) => ip(`10.0.0.${i}`));
    const ports = [{ port: 80 }, { name: 'any' }, { name: '' }];
    expect(cells({ addressType: 'IPv4', endpoints, ports })).toEqual([
      'IPv4',
      '80,any,*',
      '10.0.0.1,10.0.0.2,10.0.0.3 + 2 more...',
    ]);
  });
});
