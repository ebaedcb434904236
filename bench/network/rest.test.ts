import { expect, it } from 'vitest';
import { untilRest } from './rest.ts';

/** Processes that take so much of the processor in each window, and the last of it from then on. */
async function rest(windows: readonly number[]) {
  let [cpu, nowMs, at] = [0, 0, 0];
  const said: string[] = [];
  const wait = async (ms: number): Promise<void> => {
    cpu += windows[Math.min(at++, windows.length - 1)] ?? 0;
    nowMs += ms;
  };
  const { cpu: taken, seconds } = await untilRest({ cpu: () => cpu, say: (text) => said.push(text), wait, now: () => nowMs });
  return { windows: at, percent: Math.round((10_000 * taken) / seconds) / 100, said };
}

it('measures two windows that take the same, after what work was left', async () => {
  expect(await rest([4, 1, 0.3, 0.28])).toEqual({ windows: 4, percent: 2.9, said: [] });
  expect(await rest([0.1, 3, 0.2, 0.2])).toEqual({ windows: 4, percent: 2, said: [] });
});

it('counts two nearly idle windows as rest, even if one has twice the ticks', async () =>
  expect(await rest([0.02, 0.04])).toMatchObject({ windows: 2, said: [] }));

it('gives up after three minutes, and says so', async () => {
  const windows = Array.from({ length: 30 }, (_, n) => (n % 2 === 0 ? 1 : 5));
  const { windows: waited, said } = await rest(windows);
  expect(waited).toBe(18);
  expect(said).toEqual(['not at rest after 180 s: figures of the processor say little']);
});
