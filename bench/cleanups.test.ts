import { expect, it, vi } from 'vitest';
import { cleanUp, endOnSignals, onSignal } from './cleanups.ts';

it('cleans up once, the newest first, without what was taken back', async () => {
  const order: string[] = [];
  const add = (name: string) => onSignal(async () => void order.push(name));
  add('server');
  const takeBack = add('agent');
  add('hollow nodes');
  takeBack();
  expect(await cleanUp()).toEqual([]);
  expect(await cleanUp()).toEqual([]);
  expect(order).toEqual(['hollow nodes', 'server']);
});

it('goes on after a cleanup that failed, and tells of it', async () => {
  const order: string[] = [];
  onSignal(async () => void order.push('server'));
  onSignal(async () => Promise.reject(new Error('no such network')));
  expect(await cleanUp()).toEqual([new Error('no such network')]);
  expect(order).toEqual(['server']);
});

it('cleans up at the first signal alone, then exits as shells report the signal', async () => {
  const before = (['SIGINT', 'SIGTERM'] as const).map((signal) => new Set(process.listeners(signal)));
  const exit = vi.spyOn(process, 'exit').mockReturnValue(undefined as never);
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const order: string[] = [];
  try {
    endOnSignals();
    const [interrupt, terminate] = (['SIGINT', 'SIGTERM'] as const).map((signal, index) => {
      const added = process.listeners(signal).filter((listener) => !before[index]!.has(listener));
      for (const listener of added) process.off(signal, listener);
      return () => added.forEach((listener) => void listener(signal));
    });
    onSignal(async () => void order.push('server'));
    terminate!();
    interrupt!();
    await vi.waitFor(() => expect(exit).toHaveBeenCalled());
    expect(order).toEqual(['server']);
    expect(exit.mock.calls).toEqual([[143]]);
    expect(stderr).toHaveBeenCalledTimes(1);
  } finally {
    exit.mockRestore();
    stderr.mockRestore();
  }
});
