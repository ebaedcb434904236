import { expect, it } from 'vitest';
import { cleanUp, onSignal } from './cleanups.ts';

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
