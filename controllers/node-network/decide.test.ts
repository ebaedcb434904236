import { describe, expect, it } from 'vitest';
import type { Node, NodeNetwork } from '../../api/generated/types.ts';
import { decideNodeNetwork, type Step } from './decide.ts';

const node = (spec: Node['spec'], ...internal: string[]): Node => ({
  metadata: { name: 'n' },
  spec,
  status: {
    addresses: [{ type: 'Hostname', address: 'n.example' }, ...internal.map((address) => ({ type: 'InternalIP', address }))],
  },
});
const cluster = { clusterCIDRs: ['10.42.0.0/16'], serviceCIDRs: ['10.43.0.0/16'], clusterDomain: 'cluster.local' };
const stored = (podCIDRs: string[], ...addresses: string[]): NodeNetwork => ({
  metadata: { name: 'n', uid: 'u', resourceVersion: '7' },
  addresses,
  podCIDRs,
  ...cluster,
});
const wanted = { metadata: { name: 'n' }, addresses: ['10.0.0.7'], podCIDRs: ['10.42.1.0/24'], ...cluster };

describe('decideNodeNetwork', () => {
  it.each<[string, Node | undefined, NodeNetwork | undefined, Step]>([
    [
      'creates one for a node with a range',
      node({ podCIDR: '10.42.1.0/24' }, '10.0.0.7'),
      undefined,
      { do: 'create', object: wanted },
    ],
    [
      'takes all ranges where there are several',
      node({ podCIDR: '10.42.1.0/24', podCIDRs: ['10.42.1.0/24', 'fd00::/64'] }, '10.0.0.7'),
      undefined,
      { do: 'create', object: { ...wanted, podCIDRs: ['10.42.1.0/24', 'fd00::/64'] } },
    ],
    ['creates none for a node without a range', node({}, '10.0.0.7'), undefined, { do: 'nothing' }],
    [
      'changes nothing that is right',
      node({ podCIDR: '10.42.1.0/24' }, '10.0.0.7'),
      stored(['10.42.1.0/24'], '10.0.0.7'),
      { do: 'nothing' },
    ],
    [
      'updates the addresses of a node that has moved, under the version that was read',
      node({ podCIDR: '10.42.1.0/24' }, '10.0.0.8'),
      stored(['10.42.1.0/24'], '10.0.0.7'),
      { do: 'update', object: stored(['10.42.1.0/24'], '10.0.0.8') },
    ],
    ['deletes that of a node that is gone', undefined, stored(['10.42.1.0/24'], '10.0.0.7'), { do: 'delete' }],
    [
      'deletes that of a node that was made anew without a range',
      node({}),
      stored(['10.42.1.0/24'], '10.0.0.7'),
      { do: 'delete' },
    ],
    ['does nothing for a node that never was', undefined, undefined, { do: 'nothing' }],
  ])('%s', (_, given, before, step) => expect(decideNodeNetwork(given, before)).toEqual(step));

  it('says what the whole cluster has, and follows another server', () => {
    const settings = { clusterCidr: '10.0.0.0/8', serviceCidr: '172.16.0.0/16', clusterDomain: 'example.org' };
    const said = { clusterCIDRs: ['10.0.0.0/8'], serviceCIDRs: ['172.16.0.0/16'], clusterDomain: 'example.org' };
    const before = stored(['10.42.1.0/24'], '10.0.0.7');
    const step = { do: 'update', object: { ...before, ...said } };
    expect(decideNodeNetwork(node({ podCIDR: '10.42.1.0/24' }, '10.0.0.7'), before, settings)).toEqual(step);
  });
});
