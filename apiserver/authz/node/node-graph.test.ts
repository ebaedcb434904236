import { expect, test, vi } from 'vitest';
import { encodeMessage } from '../../../api/codec/message.ts';
import type { Pod } from '../../../api/generated/types.ts';
import { kindNamed } from '../../../api/kinds/index.ts';
import { pod } from '../../../test/builders/index.ts';
import { KindCache } from '../../watch/kind-cache.ts';
import { NodeGraph } from './node-graph.ts';

test('the graph of nodes decodes no pod that has no node, and knows it as soon as it has one', () => {
  const kind = kindNamed('Pod');
  const cache = new KindCache(kind);
  cache.reset([], 1);
  const decode = vi.spyOn(cache.decoder, 'decode');
  const graph = new NodeGraph(cache, undefined);
  graph.observe();
  const show = (object: Pod, revision: number): void =>
    cache.apply({
      type: 'put',
      key: 'pods/default/a',
      bytes: encodeMessage(kind.message, object),
      revision,
      durability: 'synced',
    });
  show(pod('a').build(), 2);
  expect([graph.hasPod('n1', 'pods/default/a'), decode.mock.calls.length]).toEqual([false, 0]);
  show(pod('a').on('n1').build(), 3);
  expect(graph.hasPod('n1', 'pods/default/a')).toBe(true);
});
