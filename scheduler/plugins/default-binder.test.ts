import { expect, it } from 'vitest';
import { pod } from '../../test/builders/index.ts';
import { podInfo } from '../framework/pod-info.ts';
import { defaultBinder } from './default-binder.ts';

const web = podInfo(pod('web').namespace('shop').uid('u1').build());
const { signal } = new AbortController();

it('binds this very pod to the node', async () => {
  const calls: unknown[] = [];
  const plugin = defaultBinder({
    bind: async (...call) => {
      calls.push(call);
      return { resourceVersion: '1' };
    },
  });
  expect(await plugin.bind?.({ pod: web, nodeName: 'n1' }, signal)).toBe('bound');
  expect(calls).toEqual([[{ namespace: 'shop', name: 'web', uid: 'u1' }, 'n1', { signal }]]);
});

it('fails as the server does', async () => {
  const refused = new Error('node n1 is full');
  const plugin = defaultBinder({ bind: () => Promise.reject(refused) });
  await expect(plugin.bind?.({ pod: web, nodeName: 'n1' }, signal)).rejects.toBe(refused);
});
