import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type EmptyingDeps, emptyExtensions } from './empty-namespace.ts';
import type { ExtensionAnswer, ExtensionQuestion } from './extension-server.ts';
import type { RemoteGroup } from './remote-groups.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const remote = (group: string, version = 'v1'): RemoteGroup => ({
  ...{ name: `${version}.${group}`, group, version, isAvailable: true },
  spec: { group, version, service: { namespace: 'default', name: 's' } },
});
const answer = (json: object): ExtensionAnswer => ({ code: 200, body: Buffer.from(JSON.stringify(json)) });
const toys = { name: 'toys', singularName: '', namespaced: true, kind: 'Toy', verbs: ['delete', 'list'] };
const discovery = answer({ kind: 'APIResourceList', resources: [toys] });
const isDiscovery = ({ path }: ExtensionQuestion): boolean => !path.includes('/namespaces/');

/** As askExtension does with a server that takes so long. */
function after(ms: number, { withinMs }: ExtensionQuestion, found: ExtensionAnswer): Promise<ExtensionAnswer> {
  return new Promise((resolve, reject) => {
    if (ms <= withinMs) setTimeout(() => resolve(found), ms);
    else setTimeout(() => reject(new Error(`no answer within ${withinMs / 1_000} s`)), withinMs);
  });
}

/** The response and the seconds that it took. */
async function empty(groups: readonly RemoteGroup[], ask: EmptyingDeps['ask'], signal = new AbortController().signal) {
  const beganAt = performance.now();
  let seconds: number | undefined;
  const response = emptyExtensions('n', { groups, ask, signal }).finally(() => {
    seconds = (performance.now() - beganAt) / 1_000;
  });
  await vi.advanceTimersByTimeAsync(300_000);
  return { ...(await response), seconds };
}

it('waits once for each server that hangs, at the same time for several', async () => {
  const groups = Array.from({ length: 16 }, (_, i) => remote(`g${i}.example.com`));
  const { remains, undiscovered, seconds } = await empty(groups, async (_, question) =>
    isDiscovery(question) ? discovery : after(Number.POSITIVE_INFINITY, question, discovery),
  );
  expect(remains).toEqual(groups.map(({ group }) => ({ resource: `toys.${group}`, failure: 'no answer within 10 s' })));
  expect([undiscovered, seconds]).toEqual([[], 20]);
});

it('ends in time while a server is slow to delete one object after the other, and tells of each group', async () => {
  const items = Array.from({ length: 100 }, (_, i) => ({ metadata: { name: `t${i}` } }));
  const { remains, seconds } = await empty([remote('slow.example.com'), remote('quick.example.com')], async (at, question) => {
    if (isDiscovery(question)) return discovery;
    return at.group === 'quick.example.com' ? answer({ items: [] }) : after(8_000, question, answer({ items }));
  });
  expect(remains).toEqual([
    { resource: 'toys.slow.example.com', failure: 'no answer within 2 s' },
    { resource: 'toys.quick.example.com', count: 0, finalizers: {} },
  ]);
  expect(seconds).toBe(90);
});

it('tells of groups whose turn has not come in time', async () => {
  const groups = Array.from({ length: 9 }, (_, i) => remote(`g${i}.example.com`));
  const items = Array.from({ length: 100 }, (_, i) => ({ metadata: { name: `t${i}` } }));
  const { undiscovered, seconds } = await empty(groups, async (_, question) =>
    isDiscovery(question) ? discovery : after(9_000, question, answer({ items })),
  );
  expect(undiscovered).toEqual([{ groupVersion: 'g8.example.com/v1', message: 'not asked: extension servers took 90 s' }]);
  expect(seconds).toBe(90);
});

it('empties a resource that several versions have in the preferred one alone', async () => {
  const asked: string[] = [];
  const group = 'g.example.com';
  await empty([remote(group, 'v1beta1'), remote(group, 'v1')], async (_, question) => {
    if (isDiscovery(question)) return discovery;
    asked.push(question.path);
    return answer({ items: [] });
  });
  const path = `/apis/${group}/v1/namespaces/n/toys?limit=100`;
  expect(asked).toEqual([path, path]);
});

it('ends with its caller', async () => {
  const caller = new AbortController();
  const asked = vi.fn(async () => {
    caller.abort(new Error('gone'));
    return discovery;
  });
  await expect(emptyExtensions('n', { groups: [remote('g.example.com')], ask: asked, signal: caller.signal })).rejects.toThrow(
    'gone',
  );
  expect(asked).toHaveBeenCalledTimes(1);
});
