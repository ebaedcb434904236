import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import type { Pod, PodWatchResponse } from '../../api/generated/types.ts';
import { pod } from '../../api/kinds/pod/kind.ts';
import { protobufEvents } from './event-format.ts';
import { KindCache } from './kind-cache.ts';
import { compileSelection, visibleType } from './selection.ts';
import { WatchSource } from './watch-source.ts';

const nodes = ['n1', 'n2', 'n3', ''];
const clock = { now: () => 0, setTimeout: () => ({}), setImmediate: () => {} };

function bytesOf(name: string, nodeName: string): Buffer {
  const object: Pod = { metadata: { namespace: 'default', name }, spec: { nodeName, containers: [] } };
  return Buffer.from(encodeMessage(pod.message, object));
}

function open(cache: KindCache, nodeName: string): WatchSource {
  const selection = compileSelection(cache, { fieldSelector: `spec.nodeName=${nodeName}` });
  const start = { revision: cache.revision, initialEvents: false, initialBookmark: false };
  return new WatchSource(cache, selection, protobufEvents(pod.message), start);
}

function read(source: WatchSource): string[] {
  const seen: string[] = [];
  while (source.pending) {
    const chunk = source.next();
    if (!chunk) continue;
    const { events = [] } = decodeMessage<PodWatchResponse>('berth.core.v1.PodWatchResponse', chunk.subarray(5));
    for (const { type, object } of events) seen.push(`${type} ${object?.metadata?.name}@${object?.metadata?.resourceVersion}`);
  }
  return seen;
}

test('watchers of one node get what a look at every event would give them', () => {
  const step = fc.record({
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    node: fc.constantFrom(...nodes),
    verb: fc.constantFrom('put', 'put', 'delete', 'watch', 'read'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const cache = new KindCache(pod, { clock, bounds: { maxEvents: 1_000 } });
      const watchers: { node: string; source: WatchSource; from: number; seen: string[] }[] = [];
      let revision = 0;
      for (const { name, node, verb } of steps) {
        const key = `pods/default/${name}`;
        if (verb === 'watch') watchers.push({ node, source: open(cache, node), from: cache.ring.endSequence, seen: [] });
        else if (verb === 'read') for (const { source, seen } of watchers) seen.push(...read(source));
        else {
          const present = cache.range('').find((entry) => entry.key.endsWith(`/${name}`));
          if (verb === 'delete' && !present) continue;
          const bytes = verb === 'put' ? bytesOf(name, node) : present!.bytes;
          cache.apply({ type: verb, key: present?.key ?? key, revision: ++revision, bytes, durability: 'synced' });
          cache.advance(revision);
        }
      }
      for (const { node, source, from, seen } of watchers) {
        seen.push(...read(source));
        const selection = compileSelection(cache, { fieldSelector: `spec.nodeName=${node}` });
        const wanted: string[] = [];
        for (let at = from; at < cache.ring.endSequence; at++) {
          const event = cache.ring.at(at)!;
          const type = visibleType({ ...selection, prefix: '' }, event);
          if (type) wanted.push(`${type} ${event.entry.key.split('/').at(-1)}@${event.revision}`);
        }
        expect(seen).toEqual(wanted);
      }
    }),
  );
});

test('a watcher passes over events of other nodes without reading them', () => {
  const cache = new KindCache(pod, { clock });
  const source = open(cache, 'n1');
  for (let revision = 1; revision <= 3; revision++) {
    const key = `pods/default/p${revision}`;
    cache.apply({ type: 'put', key, revision, bytes: bytesOf(`p${revision}`, 'n2'), durability: 'synced' });
    cache.advance(revision);
  }
  expect(cache.touched.isUntouched('spec.nodeName', 'n1', 0)).toBe(true);
  expect(cache.touched.isUntouched('spec.nodeName', 'n2', 0)).toBe(false);
  expect(cache.touched.isUntouched('spec.nodeName', 'n2', 3)).toBe(true);
  expect(source.next()).toBeUndefined();
  expect(source.pending).toBe(false);
});
