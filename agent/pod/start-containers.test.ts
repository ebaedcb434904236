import { beforeEach, describe, expect, it } from 'vitest';
import { pod } from '../../test/builders/index.ts';
import { container } from '../../test/builders/plan.ts';
import { createFakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { createRecord, demandKill, type PodRecord } from './pod-record.ts';
import { createStarter, type Starter, type StartOptions } from './start-containers.ts';

/** What the engine made. */
let made: string[];
let begun: number;
/** Until when the sandbox waits for its turn, and the container. */
let turns: { sandbox: Promise<void>; container: Promise<void> };
let record: PodRecord;
let starter: Starter;

const web = pod('web').uid('u').container('app', { image: 'app:1' }).build();

beforeEach(() => {
  made = [];
  begun = 0;
  turns = { sandbox: Promise.resolve(), container: Promise.resolve() };
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
    podVolumes: { prepare: async () => ({ problems: [], volumes: new Map() }), prepareSubPaths: async () => new Map() },
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
