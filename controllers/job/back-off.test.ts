import { describe, expect, it } from 'vitest';
import { jobPod } from '../../test/builders/job.ts';
import { advanceBackoff, BackoffMemory, backoffLeftMs, indexBackoffLeftMs, noBackoff } from './back-off.ts';

const failed = (endedAt: number) => jobPod(`f${endedAt}`, { phase: 'Failed', endedAt });
const succeeded = (endedAt: number) => jobPod(`s${endedAt}`, { phase: 'Succeeded', endedAt });

describe('the back-off of a Job', () => {
  it.each([
    [0, 0],
    [1, 10_000],
    [2, 20_000],
    [3, 40_000],
    [6, 320_000],
    [7, 600_000],
    [50, 600_000],
  ])('after %d failures is %d ms', (failures, ms) => {
    expect(backoffLeftMs({ failures, at: 5_000 }, 5_000)).toBe(ms);
    expect(backoffLeftMs({ failures, at: 5_000 }, 6_000)).toBe(Math.max(0, ms - 1_000));
    expect(backoffLeftMs({ failures, at: 5_000 }, 5_000 + ms)).toBe(0);
  });

  it.each([
    ['counts failures', [], [failed(1), failed(2)], { failures: 3, at: 9 }],
    ['begins anew with a success', [succeeded(3)], [failed(1), failed(2)], noBackoff],
    ['counts failures after the last success', [succeeded(1), succeeded(2)], [failed(1), failed(3)], { failures: 1, at: 9 }],
    ['stays when nothing ended', [], [], { failures: 1, at: 4 }],
  ])('%s', (_, good, bad, next) => {
    expect(advanceBackoff({ failures: 1, at: 4 }, { succeeded: good, failed: bad }, 9)).toEqual(next);
  });

  it('of an index grows with the failures before, from when the last one was seen', () => {
    expect(indexBackoffLeftMs(jobPod('p', { phase: 'Failed', failures: 2 }), 1_000, 3_000)).toBe(38_000);
  });
});

describe('what is remembered for the back-off', () => {
  it('is of this very Job, and rebuilt once', () => {
    const memory = new BackoffMemory();
    let rebuilt = 0;
    const rebuild = () => ({ failures: ++rebuilt, at: 0 });
    expect(memory.recall('a/work', 'u1', 0, rebuild).failures).toBe(1);
    memory.keep('a/work', { failures: 7, at: 0 });
    expect(memory.recall('a/work', 'u1', 0, rebuild).failures).toBe(7);
    expect(memory.recall('a/work', 'u2', 0, rebuild).failures).toBe(2);
    memory.forget('a/work');
    expect(memory.recall('a/work', 'u2', 0, rebuild).failures).toBe(3);
  });

  it('does not wait longer after the clock was set back', () => {
    const memory = new BackoffMemory();
    memory.recall('a/work', 'u1', 90_000, () => ({ failures: 1, at: 90_000 }));
    expect(memory.recall('a/work', 'u1', 5_000, () => noBackoff)).toEqual({ failures: 1, at: 5_000 });
    memory.sight('a/work', [failed(1)], 90_000);
    expect(memory.sight('a/work', [failed(1)], 5_000).get('f1')).toBe(5_000);
    expect(memory.sight('a/work', [failed(1)], 8_000).get('f1')).toBe(5_000);
  });
});
