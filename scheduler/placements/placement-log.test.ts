import { describe, expect, it } from 'vitest';
import { pod } from '../../test/builders/index.ts';
import { podInfo } from '../framework/pod-info.ts';
import { createPlacementLog, rememberedPlacements } from './placement-log.ts';

const placed = { nodeName: 'n1', at: 0, nodeCount: 3, fitting: 2 };

describe('placement log', () => {
  it('gives the newest first, and forgets the oldest when there are too many', () => {
    const log = createPlacementLog();
    for (let i = 0; i <= rememberedPlacements; i++) log.add(podInfo(pod(`p${i}`).uid(`u${i}`).build()), placed);
    expect(log.last(2).map(({ name }) => name)).toEqual([`p${rememberedPlacements}`, `p${rememberedPlacements - 1}`]);
    expect(log.last(10_000)).toHaveLength(rememberedPlacements);
    expect([log.of('u0'), log.of('u1')?.name]).toEqual([undefined, 'p1']);
  });

  it('keeps one entry for a pod that was placed again', () => {
    const log = createPlacementLog();
    const info = podInfo(pod('p').uid('u').build());
    log.add(info, placed);
    log.add(info, { ...placed, nodeName: 'n2' });
    expect(log.last(10).map(({ nodeName }) => nodeName)).toEqual(['n2']);
  });
});
