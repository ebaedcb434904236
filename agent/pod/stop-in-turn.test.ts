import { expect, it } from 'vitest';
import { container } from '../../test/builders/plan.ts';
import { createFakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { createRecord } from './pod-record.ts';
import { TurnStopper } from './stop-in-turn.ts';

it('tells containers to end when the pod is let go, in what is left of their grace period', async () => {
  const clock = createFakeClock();
  const startedAt = clock.now();
  const told: string[] = [];
  const stopper = new TurnStopper({
    clock,
    preStop: async (_record, _container, gracePeriodSeconds) => {
      told.push(`hook after ${clock.now() - startedAt}`);
      return gracePeriodSeconds;
    },
    runtime: {
      stop: async (id, gracePeriodSeconds) => void told.push(`${id} after ${clock.now() - startedAt} for ${gracePeriodSeconds}`),
    },
  });
  const held = new Promise<void>((resolve) => void clock.after(3_500, resolve));
  const stop = { container: container('app', { id: 'app' }), turn: 0, gracePeriodSeconds: 30 };
  const done = stopper.stopAll(createRecord('u', undefined), [stop], held);
  await clock.advance(10_000);
  await settle();
  expect(await done).toBe(true);
  expect(told).toEqual(['hook after 0', 'app after 3500 for 27']);
});
