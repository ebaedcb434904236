import { describe, expect, it } from 'vitest';
import type { PodAddress, PodAddressSlice } from '../../generated/types.ts';
import { kindNamed } from '../index.ts';

const kind = kindNamed('PodAddressSlice');
const pod = (more: PodAddress = {}, uid = 'u'): PodAddress => ({ name: 'p', uid, podIPs: ['10.42.0.5'], nodeName: 'n', ...more });
const refused = (slice: PodAddressSlice): string[] => kind.validate(slice).map(({ field }) => field);
const many = (count: number): PodAddress[] => Array.from({ length: count }, (_, i) => pod({}, `u${i}`));

describe('a slice of pod addresses', () => {
  it.each<[string, PodAddressSlice, string[]]>([
    ['nothing', {}, []],
    ['pods and labels', { namespaceLabels: { team: 'a' }, pods: [pod({ labels: { app: 'web' } })] }, []],
    ['100 pods', { pods: many(100) }, []],
    ['101 pods', { pods: many(101) }, ['pods']],
    ['a pod twice', { pods: [pod(), pod()] }, ['pods[1].uid']],
    ['a label of the namespace that is none', { namespaceLabels: { '-': 'a' } }, ['namespaceLabels[-]']],
    ['a label of a pod that is none', { pods: [pod({ labels: { a: '-' } })] }, ['pods[0].labels[a]']],
    ['a pod without anything', { pods: [{}] }, ['pods[0].name', 'pods[0].uid', 'pods[0].nodeName', 'pods[0].podIPs']],
    ['names that are none', { pods: [pod({ name: 'A', nodeName: 'N' })] }, ['pods[0].name', 'pods[0].nodeName']],
    ['no address', { pods: [pod({ podIPs: ['x'] })] }, ['pods[0].podIPs[0]']],
    ['a loopback address', { pods: [pod({ podIPs: ['127.0.0.1'] })] }, ['pods[0].podIPs[0]']],
    ['a named port', { pods: [pod({ ports: [{ name: 'web', protocol: 'TCP', containerPort: 80 }] })] }, []],
    [
      'ports that are none',
      {
        pods: [
          pod({
            ports: [
              { name: 'Web', protocol: 'TCP', containerPort: 80 },
              { name: 'a', protocol: 'x' },
            ],
          }),
        ],
      },
      ['pods[0].ports[0].name', 'pods[0].ports[1].protocol', 'pods[0].ports[1].containerPort'],
    ],
    ['101 ports', { pods: [pod({ ports: Array.from({ length: 101 }, () => ({})) })] }, ['pods[0].ports']],
    ['three addresses', { pods: [pod({ podIPs: ['10.0.0.1', '10.0.0.2', 'fd00::1'] })] }, ['pods[0].podIPs']],
  ])('is judged when it has %s', (_title, slice, expected) => expect(refused(slice)).toEqual(expected));

  it('is shown with how many pods it has and the first of their addresses', () => {
    const pods = [1, 2, 3, 4].map((i) => pod({ podIPs: [`10.42.0.${i}`] }, `u${i}`));
    expect(kind.columns.slice(1, 3).map(({ name, cell }) => [name, cell({ pods }, new Date())])).toEqual([
      ['PODS', '4'],
      ['ADDRESSES', '10.42.0.1,10.42.0.2,10.42.0.3 + 1 more...'],
    ]);
  });
});
