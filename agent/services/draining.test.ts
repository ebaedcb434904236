import { describe, expect, it } from 'vitest';
import type { EndpointSlice, Pod } from '../../api/generated/types.ts';
import { createIndexer } from '../../client/informer/indexer.ts';
import type { InformerHandler } from '../../client/informer/informer.ts';
import { createFakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { Draining, nodeAddressIndex } from './draining.ts';

const pod: Pod = { metadata: { namespace: 'n', name: 'p' }, status: { podIP: '10.42.0.5' } };
const slice = (name: string, ready: boolean, nodeName = 'own'): EndpointSlice => ({
  metadata: { namespace: 'n', name },
  endpoints: [{ addresses: ['10.42.0.5'], nodeName, conditions: { ready } }],
});

function setUp(...slices: EndpointSlice[]) {
  const clock = createFakeClock();
  const lister = createIndexer<EndpointSlice>(nodeAddressIndex('own'));
  for (const each of slices) lister.set(each);
  const handlers = new Set<InformerHandler<EndpointSlice>>();
  const addHandler = (handler: InformerHandler<EndpointSlice>) => {
    handlers.add(handler);
    return () => void handlers.delete(handler);
  };
  const draining = new Draining({ slices: { lister, addHandler }, clock });
  const abort = new AbortController();
  let isOver = false;
  const begin = (gracePeriodSeconds = 30, of = pod) =>
    draining.until(of, gracePeriodSeconds, abort.signal).then(() => {
      isOver = true;
    });
  const change = (next: EndpointSlice) => {
    lister.set(next);
    for (const each of [...handlers]) each.onUpdate?.(next, next);
  };
  const isOverIn = async (ms: number): Promise<boolean> => {
    await clock.advance(ms);
    await settle();
    return isOver;
  };
  return { begin, change, isOverIn, abort, handlers };
}

describe('Draining', () => {
  it.each([
    ['is behind no Service', pod, []],
    ['has an address that another node has too', pod, [slice('a', true, 'other')]],
    ['has no address', { metadata: pod.metadata }, [slice('a', true)]],
    ['is in the network of its machine', { ...pod, spec: { hostNetwork: true } }, [slice('a', true)]],
  ])('does not hold a pod that %s', async (_, of, slices) => {
    const { begin, isOverIn } = setUp(...slices);
    void begin(30, of);
    expect(await isOverIn(0)).toBe(true);
  });

  it('holds a pod until every slice has let go of it, and half a second more', async () => {
    const { begin, change, isOverIn, handlers } = setUp(slice('a', true), slice('b', true));
    void begin();
    expect(await isOverIn(1_000)).toBe(false);
    change(slice('a', false));
    expect(await isOverIn(600)).toBe(false);
    change(slice('b', false));
    expect(await isOverIn(0)).toBe(false);
    expect(await isOverIn(499)).toBe(false);
    expect(await isOverIn(1)).toBe(true);
    expect(handlers.size).toBe(0);
  });

  it('holds a pod that is out already for half a second: other nodes may not know yet', async () => {
    const { begin, isOverIn } = setUp(slice('a', false));
    void begin();
    expect(await isOverIn(0)).toBe(false);
    expect(await isOverIn(500)).toBe(true);
  });

  it.each([
    [30, 5_000],
    [4, 2_000],
    [1, 500],
  ])('with a grace period of %i s goes on after %i ms while nobody lets go of it', async (grace, ms) => {
    const { begin, isOverIn } = setUp(slice('a', true));
    void begin(grace);
    expect(await isOverIn(ms - 1)).toBe(false);
    expect(await isOverIn(1)).toBe(true);
  });

  it('ends with its signal', async () => {
    const { begin, isOverIn, abort, handlers } = setUp(slice('a', true));
    void begin();
    expect(await isOverIn(0)).toBe(false);
    abort.abort();
    expect(await isOverIn(0)).toBe(true);
    expect(handlers.size).toBe(0);
  });
});
