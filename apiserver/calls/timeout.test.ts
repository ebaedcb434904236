import { expect, it } from 'vitest';
import { garbageCollector } from '../../test/fakes/used-memory.ts';
import { startTimeout } from './timeout.ts';

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

it('never ends once it is cleared', async () => {
  const [cleared, other] = [startTimeout(1), startTimeout(20)];
  cleared.clear();
  await new Promise<void>((resolve) => other.signal.addEventListener('abort', () => resolve()));
  expect(cleared.signal.aborted).toBe(false);
});
