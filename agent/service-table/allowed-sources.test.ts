import { expect, it } from 'vitest';
import { allowedSources } from './allowed-sources.ts';

it.each([
  [
    'ranges and the address itself, in order',
    ['192.168.0.0/16', ' 10.0.0.0/8'],
    ['10.0.0.0/8', '192.0.2.1/32', '192.168.0.0/16'],
  ],
  [
    'what lies in another range once',
    ['10.1.0.0/16', '10.0.0.0/8', '10.0.0.0/8', '192.0.2.0/24'],
    ['10.0.0.0/8', '192.0.2.0/24'],
  ],
  ['a range with bits behind its length as its network', ['10.1.2.3/8'], ['10.0.0.0/8', '192.0.2.1/32']],
  ['the address alone where nothing is an IPv4 range', ['fd00::/8', 'x', '10.0.0.0/33'], ['192.0.2.1/32']],
  ['all with the range of all', ['10.0.0.0/8', '0.0.0.0/0'], 'all'],
])('takes %s', (_, ranges, expected) => expect(allowedSources(ranges, '192.0.2.1')).toEqual(expected));
