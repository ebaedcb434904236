import { describe, expect, it } from 'vitest';
import { runStudy } from './index.ts';
import { plotStudy } from './plot.ts';
import { summarise } from './summary.ts';

/** Small enough for a unit test, and large enough that nodes have too much to do. */
const small = { seed: 7, nodes: 20, lengthMs: 6 * 3_600_000 };

describe('the study of usage', () => {
  const runs = runStudy(small);
  const [requestsOnly, usageAware] = [summarise(runs.requestsOnly), summarise(runs.usageAware)];

  it('gives the same figures for the same seed', () => {
    const again = runStudy(small);
    expect([summarise(again.requestsOnly), summarise(again.usageAware)]).toEqual([requestsOnly, usageAware]);
  });

  it('compares two runs of the same load', () => {
    expect(usageAware.use / requestsOnly.use).toBeGreaterThan(0.95);
    expect([requestsOnly.waiting, usageAware.waiting]).toEqual([0, 0]);
    expect(runs.requestsOnly.map(({ pods }) => pods)).toEqual(runs.usageAware.map(({ pods }) => pods));
  });

  it('finds nodes nearer to each other, and fewer of them with too much to do, when placements mind their use', () => {
    expect(usageAware.deviation).toBeLessThan(requestsOnly.deviation);
    expect(usageAware.overloaded).toBeLessThan(requestsOnly.overloaded);
  });

  it('draws a picture of it', () => {
    const picture = plotStudy(runs);
    expect(picture.match(/<path class="line /g)).toHaveLength(6);
    expect(picture).not.toContain('NaN');
  });
});
