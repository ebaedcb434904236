import { beforeEach, describe, expect, it } from 'vitest';
import { container } from '../../test/builders/plan.ts';
import { createFakeClock, type FakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { createLimit } from '../limit.ts';
import type { ContainerRuntime } from '../runtime/runtime.ts';
import { createRecord } from './pod-record.ts';
import { createStopper, type Stopper } from './stop-containers.ts';

/** When each container was told to end, and how long it was given. */
let told: string[];
let clock: FakeClock;
let stopper: Stopper;
/** How many seconds a container takes to end, whatever it is given. */
let takes: Record<string, number>;
/** How long its preStop hook takes. */
let hooks: Record<string, number>;

const wait = (seconds: number) => new Promise<void>((resolve) => void clock.after(seconds * 1000, resolve));

beforeEach(() => {
  told = [];
  takes = {};
  hooks = {};
  clock = createFakeClock();
  const startedAt = clock.now();
  const runtime = {
    async stop(id: string, gracePeriodSeconds: number) {
      told.push(`${id} after ${(clock.now() - startedAt) / 1000} for ${gracePeriodSeconds}`);
      await wait(Math.min(takes[id] ?? 0, gracePeriodSeconds));
    },
  } as unknown as ContainerRuntime;
  const unused = {} as never;
  stopper = createStopper({
    runtime,
    pods: unused,
    volumes: unused,
    report: unused,
    events: () => {},
    clock,
    async preStop(_record, { id }, gracePeriodSeconds) {
      const seconds = hooks[id] ?? 0;
      if (seconds > 0) await wait(seconds);
      return gracePeriodSeconds - seconds;
    },
    limit: createLimit(1),
  });
});

async function stopAll(gracePeriodSeconds: number): Promise<string[]> {
  const turns = { app: 0, job: 0, logger: 1, proxy: 2 };
  const stops = Object.entries(turns).map(([name, turn]) => ({
    container: container(name, { id: name }),
    turn,
    gracePeriodSeconds,
  }));
  const done = stopper.stopAll(createRecord('u', undefined), stops);
  await clock.advance(120_000);
  await settle();
  expect(await done).toBe(true);
  return told;
}

describe('containers that end in turns', () => {
  it('are told to end when those of the turn before have ended, with what is left of the grace period', async () => {
    takes = { app: 3, job: 5, logger: 4 };
    expect(await stopAll(30)).toEqual([
      'app after 0 for 30',
      'job after 0 for 30',
      'logger after 5 for 25',
      'proxy after 9 for 21',
    ]);
  });

  it('get a last moment when the others have used the whole grace period', async () => {
    takes = { app: 60, logger: 60 };
    expect(await stopAll(10)).toEqual([
      'app after 0 for 10',
      'job after 0 for 10',
      'logger after 10 for 2',
      'proxy after 10 for 2',
    ]);
  });

  it('run their preStop hooks at once, before their turn', async () => {
    takes = { app: 4 };
    hooks = { logger: 3, proxy: 1 };
    expect(await stopAll(30)).toEqual([
      'app after 0 for 30',
      'job after 0 for 30',
      'logger after 4 for 26',
      'proxy after 4 for 26',
    ]);
  });

  it('are all killed at once when there is no grace period', async () => {
    expect(await stopAll(0)).toEqual(['app after 0 for 0', 'job after 0 for 0', 'logger after 0 for 0', 'proxy after 0 for 0']);
  });

  it('are not told to end for a wish that is no longer the newest', async () => {
    const record = createRecord('u', undefined);
    record.interrupt.abort();
    expect(await stopper.stopAll(record, [{ container: container('app'), turn: 0, gracePeriodSeconds: 30 }])).toBe(false);
    expect(told).toEqual([]);
  });
});
