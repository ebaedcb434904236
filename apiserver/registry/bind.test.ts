import { expect, it } from 'vitest';
import { encodeMessage } from '../../api/codec/message.ts';
import type { Binding, Node, Pod } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { node, pod } from '../../test/builders/index.ts';
import type { Storage, Write } from '../storage/storage.ts';
import { KindCache } from '../watch/kind-cache.ts';
import { bindPod } from './bind.ts';
import { KindStore } from './kind-store.ts';
import { NodeSums } from './node-sums.ts';

const context = { user: 'u', manager: 'm', dryRun: false };
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** An unbound pod and two nodes, over a disk on which writes wait until the test ends them. */
function setup() {
  const waiting: { readonly write: Write; readonly end: (error?: Error) => void }[] = [];
  const storage = {
    get: async () => undefined,
    update: (_key: string, _expected: number, write: Write) =>
      new Promise<number>((resolve, reject) => {
        waiting.push({ write, end: (error) => (error ? reject(error) : resolve(2)) });
      }),
  } as unknown as Storage;
  const environment = { storage, now: () => new Date(0), random: () => 0, uid: () => 'uid' };
  const storeOf = (kind: Kind, objects: readonly (Pod | Node)[]) => {
    const cache = new KindCache(kind);
    const keyOf = ({ metadata }: Pod | Node) => [kind.plural, metadata?.namespace, metadata?.name].filter(Boolean).join('/');
    cache.reset(
      objects.map((object) => ({ key: keyOf(object), bytes: encodeMessage(kind.message, object), revision: 1 })),
      1,
    );
    return new KindStore(cache, environment);
  };
  const pods = storeOf(kindNamed('Pod'), [pod('p').requests({ cpu: '1' }).build()]);
  const capacity = { cpu: '4', memory: '1Gi', pods: '10' };
  const nodes = storeOf(
    kindNamed('Node'),
    ['n1', 'n2'].map((name) => node(name).capacity(capacity).build()),
  );
  const sums = new NodeSums(pods.cache);
  sums.observe();
  /** The first write that waits reaches the disk, and the cache shows it. */
  const endFirst = (): void => {
    const { write, end } = waiting.shift()!;
    pods.cache.apply({ type: 'put', key: 'pods/default/p', revision: 2, bytes: write.bytes, durability: 'synced' });
    pods.cache.advance(2);
    end();
  };
  const bind = (target: string): Promise<unknown> => {
    const binding: Binding = { metadata: { namespace: 'default', name: 'p' }, target: { kind: 'Node', name: target } };
    return bindPod({ pods, nodes, sums }, binding, context);
  };
  return { bind, waiting, endFirst, taken: (name: string) => sums.without(name, 'pods/default/other').pods ?? 0 };
}

it('a pod that is bound to two nodes at once is reserved on one of them only', async () => {
  const { bind, waiting, endFirst, taken } = setup();
  const first = bind('n1');
  const second = bind('n2').catch((error: unknown) => error);
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  expect([waiting.length, taken('n1'), taken('n2')]).toEqual([1, 1, 0]);
  endFirst();
  await first;
  expect(await second).toMatchObject({ code: 'ABORTED', message: expect.stringContaining('already assigned to node "n1"') });
  expect([taken('n1'), taken('n2')]).toEqual([1, 0]);
});

it('the second of two bindings of a pod takes its node when the first one fails', async () => {
  const { bind, waiting, endFirst, taken } = setup();
  const first = bind('n1').catch((error: unknown) => error);
  const second = bind('n2');
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  waiting.shift()!.end(new Error('the disk is gone'));
  expect(await first).toBeInstanceOf(Error);
  await expect.poll(() => waiting.length).toBe(1);
  expect([taken('n1'), taken('n2')]).toEqual([0, 1]);
  endFirst();
  await second;
});
