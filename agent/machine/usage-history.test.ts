import { describe, expect, it } from 'vitest';
import { containerSeries, createUsageHistory, historySlots, nodeSeries, podSeries } from './usage-history.ts';

const width = Object.keys(containerSeries).length;
const sample = (value: number): number[] => new Array<number>(width).fill(value);

describe('the history of usage', () => {
  it('keeps an hour, the oldest first, and forgets what is older', () => {
    const history = createUsageHistory();
    for (let i = 0; i < historySlots + 3; i++) {
      history.begin(i * 15_000);
      history.add('u1/app', sample(i));
    }
    expect(history.moments()[0]).toBe(45_000);
    expect(history.moments().length).toBe(historySlots);
    expect(history.values('u1/app', 0)?.[0]).toBe(3);
    expect(history.values('u1/app', width - 1)?.at(-1)).toBe(historySlots + 2);
  });

  it('knows nothing of a container before it was there and after it was gone, and forgets it an hour later', () => {
    const history = createUsageHistory();
    history.begin(0);
    history.begin(1);
    history.add('u1/app', sample(7));
    history.begin(2);
    expect(history.values('u1/app', 1)).toEqual([Number.NaN, 7, Number.NaN]);
    for (let i = 0; i < historySlots - 1; i++) history.begin(3 + i);
    expect(history.values('u1/app', 0)).toBeUndefined();
    expect(history.keys('')).toEqual([]);
  });

  it('goes on with the same ring when a container starts again under its name', () => {
    const history = createUsageHistory();
    for (const value of [1, 2]) {
      history.begin(value);
      history.add('u1/app', sample(value));
    }
    expect(history.values('u1/app', 0)).toEqual([1, 2]);
    expect(history.keys('u1/')).toEqual(['u1/app']);
  });

  it('holds 110 pods of one container in 1.1 MB, and never more than a thousand', () => {
    const history = createUsageHistory();
    history.begin(0);
    const add = (pods: number): void => {
      for (let i = 0; i < pods; i++) {
        history.add(`u${i}`, new Array<number>(Object.keys(podSeries).length).fill(1));
        history.add(`u${i}/app`, sample(1));
      }
    };
    history.add('', new Array<number>(Object.keys(nodeSeries).length).fill(1));
    add(110);
    expect(history.bytes).toBeLessThan(1_100_000);
    add(5_000);
    expect(history.bytes).toBeLessThan(10_000_000);
    // Room comes back when those that have ended are forgotten.
    for (let i = 0; i < historySlots; i++) history.begin(i);
    history.add('new/app', sample(1));
    expect(history.keys('new')).toEqual(['new/app']);
  });
});
