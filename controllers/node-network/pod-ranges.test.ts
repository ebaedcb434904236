import { expect, it } from 'vitest';
import type { Node, NodeNetwork } from '../../api/generated/types.ts';
import { podRanges } from './pod-ranges.ts';

const node = (...podCIDRs: string[]): Node => ({ spec: { podCIDRs } });
const network = (...clusterCIDRs: string[]): NodeNetwork => ({ clusterCIDRs });

it.each<[string, Node[], NodeNetwork[], string[]]>([
  ['all nodes are within it', [node('10.50.1.0/24'), node('fd00::/64'), node()], [network('10.42.0.0/16')], ['10.50.0.0/16']],
  [
    'nodes have ranges of the one before',
    [node('10.42.0.0/24'), node('10.42.7.0/24'), node('10.50.0.0/24')],
    [network('10.42.0.0/16'), network('10.50.0.0/16', '10.42.0.0/16'), network('fd00::/48')],
    ['10.50.0.0/16', '10.42.0.0/16'],
  ],
  ['no NodeNetwork says which it was', [node('10.42.0.0/24')], [network('10.41.0.0/16')], ['10.50.0.0/16', '10.42.0.0/24']],
  ['a node has only a part in it', [node('10.48.0.0/14')], [], ['10.50.0.0/16', '10.48.0.0/14']],
])('are the cluster range alone, or also others: %s', (_, nodes, networks, ranges) =>
  expect(podRanges('10.50.0.0/16', nodes, networks)).toEqual(ranges),
);

it('are bounded', () => {
  const nodes = Array.from({ length: 200 }, (_, i) => node(`10.42.${i}.0/24`));
  expect(podRanges('10.50.0.0/16', nodes, [])).toHaveLength(65);
});
