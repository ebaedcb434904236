import { describe, expect, it } from 'vitest';
import type { Taint, Toleration } from '../../api/generated/types.ts';
import { type PodBuilder, pod } from '../../test/builders/index.ts';
import { decideEvictions } from './decide.ts';

const lost: Taint = { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute', timeAdded: { seconds: 1 } };
const own: Taint = { key: 'gpu', value: 'broken', effect: 'NoExecute' };
const web = pod('web').on('n1');
const usual: Toleration = { key: lost.key!, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 };

function outcome(builder: PodBuilder, taints: readonly Taint[], over = false): string {
  const { evict, counting } = decideEvictions({ taints, pods: [builder.build()], isOver: () => over });
  if (evict.length > 0) return `leaves for ${evict[0]?.taint.key}`;
  return counting.size > 0 ? `stays ${[...counting.values()].join(' and ')} ms` : 'stays';
}

describe('a pod on a tainted node', () => {
  it.each<[string, PodBuilder, Taint[], string]>([
    ['that does not tolerate the taint leaves at once', web, [lost], 'leaves for node.kubernetes.io/unreachable'],
    ['that does not tolerate the taint of a user leaves at once', web, [own], 'leaves for gpu'],
    ['stays where the taint only keeps new pods away', web, [{ ...own, effect: 'NoSchedule' }], 'stays'],
    ['stays for the seconds of its toleration', web.toleration(usual), [lost], 'stays 300000 ms'],
    ['stays for good without seconds', web.toleration({ key: lost.key!, operator: 'Exists' }), [lost], 'stays'],
    ['stays for good when it tolerates everything', web.toleration({ operator: 'Exists' }), [lost, own], 'stays'],
    [
      'leaves at once with no seconds at all',
      web.toleration({ ...usual, tolerationSeconds: 0 }),
      [lost],
      'leaves for node.kubernetes.io/unreachable',
    ],
    [
      'goes by the first toleration that matches',
      web.toleration(usual).toleration({ operator: 'Exists' }),
      [lost],
      'stays 300000 ms',
    ],
    ['counts for each of several taints', web.toleration({ ...usual, key: '' }), [lost, own], 'stays 300000 and 300000 ms'],
    ['leaves for the one of several that it does not tolerate', web.toleration(usual), [lost, own], 'leaves for gpu'],
    ['that tolerates another value leaves', web.toleration({ key: 'gpu', value: 'hot' }), [own], 'leaves for gpu'],
    ['that is leaving is left alone', web.deleting(0), [lost], 'stays'],
    ['that has ended is left alone', web.phase('Succeeded'), [lost], 'stays'],
    ['that mirrors a file of the node is left alone', web.annotations({ 'kubernetes.io/config.mirror': 'x' }), [lost], 'stays'],
  ])('%s', (_, builder, taints, expected) => {
    expect(outcome(builder, taints)).toBe(expected);
  });

  it('leaves when its seconds are over', () => {
    expect(outcome(web.toleration(usual), [lost], true)).toBe('leaves for node.kubernetes.io/unreachable');
  });

  it('counts anew for another taint, another pod of the name, and other seconds', () => {
    const keyOf = (builder: PodBuilder, taint: Taint) =>
      [...decideEvictions({ taints: [taint], pods: [builder.build()], isOver: () => false }).counting.keys()][0];
    const tolerant = web.toleration(usual);
    const keys = [
      keyOf(tolerant, lost),
      keyOf(tolerant, { ...lost, timeAdded: { seconds: 2 } }),
      keyOf(tolerant.uid('other'), lost),
      keyOf(web.toleration({ ...usual, tolerationSeconds: 299 }), lost),
    ];
    expect(new Set(keys).size).toBe(4);
    expect(keyOf(tolerant, { ...lost })).toBe(keys[0]);
  });
});
