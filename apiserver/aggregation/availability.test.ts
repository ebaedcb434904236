import { expect, it } from 'vitest';
import { createFakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import type { KindStore } from '../registry/kind-store.ts';
import { Availability, type AvailabilityOptions } from './availability.ts';
import { RemoteGroups } from './remote-groups.ts';

const name = 'v1.example.com';

/** A store of one kind that holds what `decode` gives, and ends a write when the test says so. */
function storeOf(objects: readonly object[] = []) {
  const endWrites: (() => void)[] = [];
  const entries = objects.map((object) => ({ key: `apiservices.apiregistration.k8s.io/${name}`, object }));
  const store = {
    cache: {
      observe: (observer: { reset(entries: readonly object[]): void }) => {
        observer.reset(entries);
        return () => {};
      },
      attempt: (_key: string, work: () => void) => work(),
      decoder: { decode: ({ object }: { readonly object: object }) => object },
    },
    read: async () => undefined,
    change: () => new Promise<void>((resolve) => endWrites.push(resolve)),
  } as unknown as KindStore;
  return { store, endWrites };
}

it('ends behind the write of a status that it began', async () => {
  const spec = { group: 'example.com', version: 'v1', service: { namespace: 'default', name: 'missing' } };
  const { store: apiServices, endWrites } = storeOf([{ metadata: { name }, spec }]);
  const groups = new RemoteGroups(apiServices, new Set());
  groups.observe();
  const clock = createFakeClock();
  const others = { services: storeOf().store, slices: storeOf().store };
  const options = { ...others, groups, apiServices, clock, log: createFakeLogger() } as unknown as AvailabilityOptions;
  const stopping = new AbortController();
  let hasEnded = false;
  const running = new Availability(options).run(stopping.signal).then(() => {
    hasEnded = true;
  });
  await clock.advance(1_000);
  expect(endWrites).toHaveLength(1);
  stopping.abort();
  await settle();
  expect(hasEnded).toBe(false);
  endWrites[0]!();
  await running;
  expect([endWrites.length, clock.pending]).toEqual([1, 0]);
});
