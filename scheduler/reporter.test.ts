import { expect, it } from 'vitest';
import type { Event } from '../api/generated/types.ts';
import { pod } from '../test/builders/index.ts';
import { createFakeClock, settle } from '../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../test/fakes/fake-logger.ts';
import '../test/fakes/fake-patch.ts';
import { createFakePodClient } from '../test/fakes/fake-pod-client.ts';
import { createFakeResourceClient } from '../test/fakes/fake-resource-client.ts';
import { podInfo } from './framework/pod-info.ts';
import { createReporter } from './reporter.ts';

const high = pod('high').build();
const info = podInfo(high);
const full = { reason: 'Unschedulable', message: '0/1 nodes are available: 1 insufficient cpu.' } as const;

function setUp() {
  const pods = createFakePodClient({ objects: [high] });
  const events = createFakeResourceClient<Event>({ kind: 'Event' });
  const reporter = createReporter({ pods, events, clock: createFakeClock(), logger: createFakeLogger() });
  /** Writes what waits, and says where the pod is nominated then. */
  const written = async () => {
    const stop = new AbortController();
    const running = reporter.run(stop.signal);
    for (let turn = 0; turn < 5; turn++) await settle();
    stop.abort();
    await running;
    return pods.stored('default/high')?.status?.nominatedNodeName;
  };
  return { reporter, pods, written };
}

it('says where room is being made for a pod, also when something else is said before that is written', async () => {
  const { reporter, written } = setUp();
  reporter.notBound(info, { ...full, nominatedNodeName: 'n1' });
  reporter.notBound(info, { reason: 'SchedulerError', message: 'away' });
  expect(await written()).toBe('n1');
});

it('takes that back, and writes nothing for a pod that was never nominated', async () => {
  const { reporter, pods, written } = setUp();
  reporter.notBound(info, { ...full, nominatedNodeName: 'n1' });
  reporter.notBound(info, { ...full, nominatedNodeName: '' });
  expect(await written()).toBeUndefined();
  expect(pods.calls.map(({ argument }) => JSON.stringify(argument)).join()).toContain('"nominatedNodeName":null');
  const other = setUp();
  other.reporter.notBound(info, { ...full, nominatedNodeName: '' });
  expect(await other.written()).toBeUndefined();
  expect(other.pods.calls.map(({ argument }) => JSON.stringify(argument)).join()).not.toContain('nominatedNodeName');
});
