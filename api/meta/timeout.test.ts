import { expect, it } from 'vitest';
import { garbageCollector } from '../../test/fakes/used-memory.ts';
import { startTimeout, type Timeout } from './timeout.ts';

/** As a call that can be cancelled listens: to a signal that is composed of this one and another. */
const ending = (ms: number) => AbortSignal.any([new AbortController().signal, startTimeout(ms).signal]);

it('ends also when garbage was collected meanwhile, and only a composed signal knows of the time', async () => {
  const collect = garbageCollector();
  const signal = ending(100);
  const ended = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  await new Promise(setImmediate);
  collect();
  await ended;
  expect(signal.reason).toMatchObject({ name: 'TimeoutError' });
});

const isOver = ({ signal }: Timeout) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));

it('never ends once it is cleared', async () => {
  const [cleared, other] = [startTimeout(1), startTimeout(20)];
  cleared.clear();
  await isOver(other);
  expect(cleared.signal.aborted).toBe(false);
});

it('does not end at once when it is longer than timers of Node.js are', async () => {
  const [long, other] = [startTimeout(2 ** 40), startTimeout(20)];
  await isOver(other);
  expect(long.signal.aborted).toBe(false);
  long.clear();
});
