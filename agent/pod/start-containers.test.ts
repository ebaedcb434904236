import { beforeEach, describe, expect, it } from 'vitest';
import { pod } from '../../test/builders/index.ts';
import { container } from '../../test/builders/plan.ts';
import { createFakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { createRecord, demandKill, type PodRecord } from './pod-record.ts';
import { acceptableAgeMs, createStarter, type Starter, type StartOptions } from './start-containers.ts';

/** What the engine made. */
let made: string[];
let begun: number;
/** Until when the sandbox waits for its turn, and the container. */
let turns: { sandbox: Promise<void>; container: Promise<void> };
/** What is wrong with its volumes. */
let problems: { message: string }[];
let record: PodRecord;
let starter: Starter;

const web = pod('web').uid('u').container('app', { image: 'app:1' }).build();

beforeEach(() => {
  made = [];
  begun = 0;
  turns = { sandbox: Promise.resolve(), container: Promise.resolve() };
  problems = [];
  record = createRecord('u', web);
  const make = async ({ identity }: { identity: { containerName: string } }) => {
    made.push(identity.containerName);
    return container(identity.containerName);
  };
  const ready = {
    runtime: { runSandbox: make, runContainer: make },
    images: { ensure: async () => ({ present: true }), hold: () => () => {} },
    objects: { forPod: async () => ({}) },
    security: { runtimeHandler: async () => undefined, facts: async () => ({}), settled: () => {} },
    podVolumes: { prepare: async () => ({ problems, volumes: new Map() }), prepareSubPaths: async () => new Map() },
    messages: { prepare: async () => undefined },
  };
  const limit = <T>(run: () => Promise<T>, first?: 'first') => turns[first ? 'container' : 'sandbox'].then(run);
  starter = createStarter({
    ...(ready as unknown as StartOptions),
    ...{ events: () => {}, clock: createFakeClock(), sandboxImage: 'pause', hostIP: '10.0.0.1' },
    limit: Object.assign(limit, { ifFree: limit }),
    allocatable: { cpuMilli: 1000, memoryBytes: 1 << 30 },
  });
});

const start = () =>
  starter.start({
    record,
    pod: web,
    sandbox: { type: 'run-sandbox', attempt: 0 },
    starts: [{ type: 'run-container', name: 'app', attempt: 0, restartsInRow: 0 }],
    onBegin: () => begun++,
  });

function turn() {
  let come = () => {};
  const promise = new Promise<void>((resolve) => {
    come = resolve;
  });
  return { promise, come };
}

describe('a start that waits for its turn', () => {
  it('begins when its turn comes', async () => {
    const { promise, come } = turn();
    turns.sandbox = promise;
    const started = start();
    await settle();
    expect([made, begun]).toEqual([[], 0]);
    come();
    await started;
    expect([made, begun]).toEqual([['POD', 'app'], 1]);
    expect([...record.containers.keys()]).toEqual(['POD-0', 'app-0']);
  });

  it.each([
    ['nothing', 'sandbox', [], 0],
    ['no container in its sandbox', 'container', ['POD'], 1],
  ] as const)('makes %s any more when its pod is to go meanwhile', async (_, waits, names, times) => {
    const { promise, come } = turn();
    turns[waits] = promise;
    const started = start();
    await settle();
    demandKill(record, { type: 'delete', gracePeriodSeconds: 30 });
    come();
    await started;
    expect([made, begun, record.containers.size, record.blocked.size]).toEqual([names, times, names.length, 0]);
  });
});

it('says of a container why the volumes of its pod are not there', async () => {
  problems = [{ message: 'volume "a": config map "x" does not exist' }, { message: 'volume "b": secret "y" does not exist' }];
  await start();
  expect(made).toEqual(['POD']);
  expect(record.blocked.get('app')).toMatchObject({
    reason: 'ContainerCreating',
    message:
      'MountVolume.SetUp failed for volume "a": config map "x" does not exist; ' +
      'MountVolume.SetUp failed for volume "b": secret "y" does not exist',
  });
});

describe('the age of the ConfigMaps and Secrets that a pod starts with', () => {
  const created = { seconds: 1_000, nanos: 0 };
  const aged = (nowMs: number): number =>
    acceptableAgeMs({ ...web, metadata: { ...web.metadata, creationTimestamp: created } }, nowMs);

  it.each([
    ['created in this second', 1_000_900, 0],
    ['created by a clock that is ahead', 990_000, 0],
    ['created some seconds ago', 1_003_500, 2_500],
    ['created long ago', 1_100_000, 5_000],
  ])('of a pod that was %s excludes what is older than the pod', (_, nowMs, age) => {
    expect(aged(nowMs)).toBe(age);
  });

  it('of a pod without a time of creation is bounded', () => {
    expect(acceptableAgeMs({ spec: web.spec }, 0)).toBe(5_000);
  });
});
