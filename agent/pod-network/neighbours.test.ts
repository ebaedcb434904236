import { describe, expect, it } from 'vitest';
import type { NodeNetwork } from '../../api/generated/types.ts';
import { parseAddressRange } from '../../api/meta/address-range.ts';
import { computeNeighbours } from './neighbours.ts';

const own = { name: 'n', address: '10.0.0.1', range: parseAddressRange('10.42.0.0/24') };
const node = (name: string, address: string, range: string, seconds = 0): NodeNetwork => ({
  metadata: { name, creationTimestamp: { seconds } },
  addresses: [address],
  podCIDRs: [range],
});
const shown = (all: readonly NodeNetwork[]) => {
  const { neighbours, refused } = computeNeighbours(all, own);
  return { to: neighbours.map(({ name, address, range }) => `${name} ${address} ${range.text}`), refused };
};

describe('computeNeighbours', () => {
  it('has every node but this one and agents of this machine', () => {
    const beside = node('beside', '10.0.0.1', '10.42.9.0/24');
    expect(shown([node('n', '10.0.0.1', '10.42.0.0/24'), beside, node('a', '10.0.0.2', '10.42.1.0/24')])).toEqual({
      to: ['a 10.0.0.2 10.42.1.0/24'],
      refused: [],
    });
  });

  it('takes the IPv4 address and range of a node, and passes over one without', () => {
    const both = { ...node('a', 'fd00::2', 'fd00:1::/64'), addresses: ['fd00::2', '10.0.0.2'] };
    expect(shown([{ ...both, podCIDRs: ['fd00:1::/64', '10.42.1.0/24'] }]).to).toEqual(['a 10.0.0.2 10.42.1.0/24']);
    expect(shown([both, { ...both, addresses: [] }])).toEqual({ to: [], refused: [] });
  });

  it.each([
    ['this node’s addresses', node('thief', '10.0.0.9', '10.42.0.128/25'), 'thief'],
    ['everything', node('thief', '10.0.0.9', '0.0.0.0/0'), 'thief'],
    ['an older node’s addresses', node('thief', '10.0.0.9', '10.42.1.0/25', 9), 'thief'],
  ])('refuses a node that claims %s', (_, thief, name) => {
    expect(shown([thief, node('a', '10.0.0.2', '10.42.1.0/24', 1)])).toEqual({
      to: ['a 10.0.0.2 10.42.1.0/24'],
      refused: [expect.stringMatching(`pods of node ${name} cannot be reached .* has addresses that another node has too`)],
    });
  });

  it('refuses a range with bits behind its prefix, and goes on', () => {
    expect(shown([node('bad', '10.0.0.9', '10.42.3.7/24'), node('a', '10.0.0.2', '10.42.1.0/24')])).toEqual({
      to: ['a 10.0.0.2 10.42.1.0/24'],
      refused: [
        'pods of node bad cannot be reached from here: its range 10.42.3.7/24 must be the address of a network: write "10.42.3.0/24"',
      ],
    });
  });
});
