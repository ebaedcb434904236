import { describe, expect, it } from 'vitest';
import type { EndpointSubset } from '../../generated/types.ts';
import { kindNamed } from '../index.ts';

const kind = kindNamed('Endpoints');
const fields = (list: readonly { field: string }[]): string[] => list.map(({ field }) => field);
const good: EndpointSubset = { addresses: [{ ip: '10.42.0.5' }], ports: [{ port: 80 }] };

function refused(...subsets: EndpointSubset[]): string[] {
  const object = structuredClone({ subsets });
  kind.defaults(object);
  return fields(kind.validate(object));
}

describe('endpoints', () => {
  it.each<[string, EndpointSubset, string[]]>([
    ['an address and a port', good, []],
    ['an address that does not serve', { notReadyAddresses: [{ ip: 'fd00::1' }] }, []],
    ['no address', { ports: [{ port: 80 }] }, ['subsets[0]']],
    ['an empty address', { addresses: [{}] }, ['subsets[0].addresses[0].ip']],
    ['a text for an address', { addresses: [{ ip: 'web' }] }, ['subsets[0].addresses[0].ip']],
    ['a loopback address', { addresses: [{ ip: '127.0.0.1' }] }, ['subsets[0].addresses[0].ip']],
    [
      'names that are none',
      { notReadyAddresses: [{ ip: '10.0.0.1', hostname: 'a.b', nodeName: 'A' }] },
      ['subsets[0].notReadyAddresses[0].hostname', 'subsets[0].notReadyAddresses[0].nodeName'],
    ],
    [
      'several ports, one without a name',
      { ...good, ports: [{ port: 80, name: 'a' }, { port: 81 }] },
      ['subsets[0].ports[1].name'],
    ],
    [
      'a port that is none',
      { ...good, ports: [{ port: 0, name: 'A', protocol: 'HTTP', appProtocol: 'a b' }] },
      ['name', 'port', 'protocol', 'appProtocol'].map((name) => `subsets[0].ports[0].${name}`),
    ],
  ])('are judged when they have %s', (_title, subset, expected) => expect(refused(subset)).toEqual(expected));

  it('speak TCP where nothing is said', () => {
    const object = { subsets: [structuredClone(good)] };
    kind.defaults(object);
    expect(object.subsets[0]?.ports).toEqual([{ port: 80, protocol: 'TCP' }]);
  });

  it('keep the node of an address once it is said', () => {
    const at = (nodeName?: string) => ({ subsets: [{ addresses: [{ ip: '10.0.0.1', ...(nodeName && { nodeName }) }] }] });
    expect(fields(kind.validateUpdate(at('b'), at('a')))).toEqual(['subsets[0].addresses[0].nodeName']);
    expect(kind.validateUpdate(at('b'), at())).toEqual([]);
    expect(kind.validateUpdate(at(), at('a'))).toEqual([]);
  });

  it.each<[string, EndpointSubset[], string]>([
    ['nothing', [], '<none>'],
    ['what does not serve', [{ notReadyAddresses: [{ ip: '10.0.0.1' }] }], '<none>'],
    ['addresses without ports', [{ addresses: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }] }], '10.0.0.1,fd00::1'],
    [
      'each address with each port, three of them',
      [{ addresses: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }], ports: [{ port: 80 }, { port: 81 }] }],
      '10.0.0.1:80,[fd00::1]:80,10.0.0.1:81 + 1 more...',
    ],
  ])('show %s', (_title, subsets, expected) => expect(kind.columns[1]?.cell({ subsets }, new Date())).toBe(expected));
});
