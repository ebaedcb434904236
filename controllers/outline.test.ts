import { setFlagsFromString } from 'node:v8';
import { expect, it } from 'vitest';
import { decodeMessage, encodeMessage } from '../api/codec/message.ts';
import type { Pod } from '../api/generated/types.ts';
import { podOutline } from './outline.ts';

/** As it comes from the wire: no two pods share anything. */
function replica(index: number): Pod {
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-1', uid: 'u1', controller: true };
  const lastTransitionTime = { seconds: 1_700_000_000 + index, nanos: 0 };
  const conditions = ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'];
  const pod: Pod = {
    metadata: {
      ...{ name: `web-1-${index}`, namespace: 'default', uid: `pod-${index}`, resourceVersion: String(index) },
      ...{ labels: { app: 'web', 'pod-template-hash': '1' }, ownerReferences: [owner], generation: 1 },
    },
    spec: { nodeName: 'node-1', containers: [{ name: 'c', image: 'i' }] },
    status: {
      ...{ phase: 'Running', podIP: `10.0.0.${index}` },
      conditions: conditions.map((type) => ({ type, status: 'True', reason: 'Fine', lastTransitionTime })),
      containerStatuses: [{ name: 'c', ready: true, restartCount: 1, state: { running: {} } }],
    },
  };
  return decodeMessage<Pod>('berth.core.v1.Pod', encodeMessage('berth.core.v1.Pod', pod));
}

it('keeps once what the pods of one owner have in common', () => {
  const [a, b] = [1, 2].map((index) => podOutline(replica(index)));
  expect(a!.metadata?.labels).toEqual({ app: 'web', 'pod-template-hash': '1' });
  expect(a!.metadata?.labels).toBe(b!.metadata?.labels);
  expect(a!.metadata?.ownerReferences).toBe(b!.metadata?.ownerReferences);
  expect(a!.status?.containerStatuses).toEqual([{ name: 'c', restartCount: 1 }]);
  expect(a!.status?.containerStatuses).toBe(b!.status?.containerStatuses);
  expect([a, b].map((pod) => pod!.status?.conditions?.[3]?.lastTransitionTime?.seconds)).toEqual([1_700_000_001, 1_700_000_002]);
});

it('gives outlines of like pods one shape', () => {
  const [a, b] = [1, 2].map((index) => podOutline(replica(index)));
  const parts = (pod: Pod) => [pod, pod.metadata, pod.spec, pod.status, pod.status?.conditions?.[0]];
  const others = parts(b!);
  expect(parts(a!).map((part, i) => hasShapeOf(part, others[i]))).toEqual([true, true, true, true, true]);
});

/** V8's own function, which only code that is compiled under this flag can name. */
function hasShapeOf(a: unknown, b: unknown): boolean {
  setFlagsFromString('--allow-natives-syntax');
  const same = new Function('a', 'b', 'return %HaveSameMap(a, b)') as (a: unknown, b: unknown) => boolean;
  setFlagsFromString('--no-allow-natives-syntax');
  return same(a, b);
}
