import { beforeEach, describe, expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { isConditionTrue } from '../../api/meta/conditions.ts';
import { pod as podOf } from '../../test/builders/index.ts';
import { container, now } from '../../test/builders/plan.ts';
import { statusReport } from '../../test/builders/report.ts';
import { createFakeClock, type FakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { createLimit } from '../limit.ts';
import type { ContainerRuntime, ObservedContainer } from '../runtime/runtime.ts';
import { restartBackOff } from './back-off.ts';
import type { HealthKeeper } from './health.ts';
import { isAlive } from './observation.ts';
import { advance } from './pod-record.ts';
import { createPodWorkers, type PodWorkers } from './pod-workers.ts';
import { createStopper } from './stop-containers.ts';

let clock: FakeClock;
/** What the engine has. */
let containers: Map<string, ObservedContainer>;
/** What the engine was told: "stop app-0 within 30". */
let told: string[];
/** What a step waits for before it decides. */
let before: () => Promise<void>;
/** Of each status that was set, whether it says that the pod is ready. */
let said: boolean[];
let isReady: boolean;
/** Containers that fail their liveness probe; those that are to be updated in place. */
let failing: string[];
let resizing: string[];
/** What a start waits for: a pull. */
let pull: () => Promise<void>;
/** The pods of which nothing was left. */
let gone: string[];
/** The pods whose probes ended. */
let forgotten: string[];
let workers: PodWorkers;

/** It ends only when its time is over. */
async function stop(id: string, seconds: number): Promise<void> {
  told.push(`stop ${id} within ${seconds}`);
  await new Promise<void>((resolve) => void clock.after(seconds * 1000, resolve));
  const running = containers.get(id);
  if (running?.state === 'running')
    containers.set(id, { ...running, state: 'exited', exitCode: 137, finishedAt: new Date(clock.now()) });
}

beforeEach(() => {
  clock = createFakeClock(now);
  containers = new Map([container('POD'), container('app')].map((each) => [each.id, each]));
  told = [];
  before = async () => {};
  said = [];
  isReady = true;
  failing = [];
  resizing = [];
  pull = async () => {};
  forgotten = [];
  gone = [];
  const runtime = {
    list: async (podUid?: string) => [...containers.values()].filter((each) => podUid === undefined || each.podUid === podUid),
    stop,
    remove: async (id: string) => void containers.delete(id),
  } as unknown as ContainerRuntime;
  const events = () => {};
  const health: HealthKeeper = {
    of: (each) => ({ started: isAlive(each), ready: isReady, ...(failing.includes(each.id) ? { failed: unhealthy } : {}) }),
    sync: () => {},
    forget: (uid) => void forgotten.push(uid),
  };
  const report = statusReport({
    ...{ events, health, clock, backOff: restartBackOff },
    set: (_pod, status) => said.push(isConditionTrue(status.conditions, 'Ready')),
  });
  const stopper = createStopper({
    runtime,
    events,
    clock,
    pods: { delete: async () => ({}) },
    volumes: { removePodVolumes: async () => {}, releasePodVolumes: async () => {} },
    report,
    preStop: async (_record, _container, seconds) => seconds,
    limit: createLimit(8),
  });
  workers = createPodWorkers({
    runtime,
    stopper,
    events,
    clock,
    starter: { start: () => pull() },
    report,
    logger: createFakeLogger(),
    async admit(record) {
      advance(record, { type: 'admit' });
      return true;
    },
    health,
    backOff: restartBackOff,
    resizer: {
      allocate() {},
      change: (_record, _container, { id }) => (resizing.includes(id) ? 'update' : undefined),
      async update(_record, changes) {
        for (const {
          container: { id },
        } of changes)
          told.push(`update ${id}`);
        resizing = resizing.filter((id) => changes.every(({ container }) => container.id !== id));
      },
      settle() {},
      wakeAt: () => undefined,
    },
    messages: { collect: () => before() },
    gone: (uid) => void gone.push(uid),
  });
});

const unhealthy = { probe: 'liveness', message: 'Container app failed liveness probe', gracePeriodSeconds: 60 } as const;

/** As only static pods have it. */
const uid = '0123456789abcdef0123456789abcdef';
const web = podOf('web').uid('u').container('app', { image: 'app:1' });

async function running(): Promise<Pod> {
  const pod = web.build();
  workers.update(pod);
  workers.relist([...containers.values()], clock.now(), { api: true, files: true });
  void workers.run(new AbortController().signal);
  await settle();
  return pod;
}

describe('a pod that is deleted', () => {
  it('obeys a shorter grace period, also when the first came while a step was about to decide', async () => {
    await running();
    let release = () => {};
    before = () =>
      new Promise((resolve) => {
        release = resolve;
      });
    workers.look('u');
    await settle();
    workers.update(web.deleting(clock.now(), 600).build());
    before = async () => {};
    release();
    await settle();
    expect(told).toEqual(['stop app-0 within 600']);
    workers.update(web.deleting(clock.now(), 1).build());
    await settle();
    expect(told).toEqual(['stop app-0 within 600', 'stop app-0 within 1']);
    await clock.advance(1_000);
    expect(workers.get('u')).toBeUndefined();
    expect(containers.size).toBe(0);
  });

  it('is said to be ready no more while it ends, when its probe says so', async () => {
    await running();
    expect(said).toEqual([true]);
    workers.update(web.deleting(clock.now(), 600).build());
    await settle();
    isReady = false;
    workers.look('u');
    await settle();
    expect([told, said]).toEqual([['stop app-0 within 600'], [true, false]]);
  });
});

describe('while the worker of a pod waits', () => {
  it('for the grace period of a restart, the pod is reported unready as soon as its probe says so', async () => {
    await running();
    failing = ['app-0'];
    workers.look('u');
    await settle();
    expect(told).toEqual(['stop app-0 within 60']);
    isReady = false;
    workers.look('u');
    await settle();
    expect([clock.now(), said.at(-1)]).toEqual([now, false]);
  });

  it('for a pull that hangs, the pod is reported unready and ready again as its probe says', async () => {
    await running();
    pull = () => new Promise(() => {});
    workers.update(web.spec({ ephemeralContainers: [{ ephemeralContainerCommon: { name: 'debug', image: 'away:1' } }] }).build());
    await settle();
    for (const ready of [false, true]) {
      isReady = ready;
      workers.look('u');
      await settle();
      expect(said.at(-1)).toBe(ready);
    }
  });

  it('for the restart of one container, another one already has its new size', async () => {
    containers.set('side-0', container('side', { id: 'side-0' }));
    const pod = web.container('side', { image: 'app:1' }).build();
    failing = ['app-0'];
    resizing = ['side-0'];
    workers.update(pod);
    workers.relist([...containers.values()], clock.now(), { api: true, files: true });
    void workers.run(new AbortController().signal);
    await settle();
    expect(told).toEqual(['update side-0', 'stop app-0 within 60']);
  });
});

it('the workers leave no probe running when they end', async () => {
  const stop = new AbortController();
  workers.update(web.build());
  workers.relist([...containers.values()], clock.now(), { api: true, files: true });
  const running = workers.run(stop.signal);
  await settle();
  stop.abort();
  await running;
  expect(forgotten).toEqual(['u']);
});

describe('while the pods of the API are not known', () => {
  const files = { api: false, files: true };
  const list = (known: { api: boolean; files: boolean }) => workers.relist([...containers.values()], clock.now(), known);
  const begin = () => void workers.run(new AbortController().signal);

  it('only pods of files are worked on', async () => {
    const own = ['POD', 'app'].map((name) => container(name, { podUid: uid, id: `static-${name}` }));
    containers = new Map([...containers.values(), ...own].map((each) => [each.id, each]));
    workers.update(podOf('static').uid(uid).container('app', { image: 'app:1' }).build());
    workers.update(web.build());
    list(files);
    begin();
    await settle();
    expect(said).toHaveLength(1);
    list({ api: true, files: true });
    await settle();
    expect(said).toHaveLength(2);
  });

  it.each([
    ['what no file describes goes', files, ['stop app-0 within 30']],
    ['but not while a file cannot be read', { api: false, files: false }, []],
  ])('%s', async (_, known, expected) => {
    containers = new Map(['POD', 'app'].map((name) => container(name, { podUid: uid })).map((each) => [each.id, each]));
    list(known);
    begin();
    await settle();
    expect(told).toEqual(expected);
  });

  it('what the API may ask for stays', async () => {
    list(files);
    begin();
    await settle();
    expect([told, workers.get('u')]).toEqual([[], undefined]);
  });
});

describe('a static pod', () => {
  it('ends within its own grace period when its file is gone, and says when nothing is left', async () => {
    containers = new Map(['POD', 'app'].map((name) => container(name, { podUid: uid })).map((each) => [each.id, each]));
    const own = podOf('static').uid(uid).container('app', { image: 'app:1' }).build();
    workers.update(own);
    void workers.run(new AbortController().signal);
    await settle();
    workers.removed(own, Number.POSITIVE_INFINITY);
    await settle();
    expect(told).toEqual([`stop app-0 within ${own.spec?.terminationGracePeriodSeconds ?? 30}`]);
    await clock.advance(30_000);
    expect([workers.get(uid), gone]).toEqual([undefined, [uid]]);
  });

  it('is not evicted', async () => {
    containers = new Map(['POD', 'app'].map((name) => container(name, { podUid: uid })).map((each) => [each.id, each]));
    workers.update(podOf('static').uid(uid).container('app', { image: 'app:1' }).build());
    void workers.run(new AbortController().signal);
    await settle();
    workers.evict(uid, { reason: 'Evicted', message: 'too much' });
    expect(workers.get(uid)?.life.decision).toEqual({ type: 'admitted' });
  });
});

it('a pod of the API that is evicted stops within the grace period of the eviction, once', async () => {
  await running();
  const why = { reason: 'Evicted', message: 'too much', gracePeriodSeconds: 1 };
  workers.evict('u', why);
  workers.evict('u', { ...why, message: 'more' });
  await settle();
  expect([told, workers.get('u')?.life.decision]).toEqual([['stop app-0 within 1'], { type: 'ended', why }]);
});
