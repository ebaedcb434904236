import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ApiError, notFound, permissionDenied, unavailable } from '../../api/errors/index.ts';
import type { DeleteOptions, Pod } from '../../api/generated/types.ts';
import { createInformer } from '../../client/index.ts';
import { pod } from '../../test/builders/index.ts';
import { createFakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { createFakePodClient } from '../../test/fakes/fake-pod-client.ts';
import { endPods } from './end-pods.ts';

const budget = (name: string) => new ApiError('RESOURCE_EXHAUSTED', 'DisruptionBudget', `the disruption budget ${name} needs 2`);

let world: Awaited<ReturnType<typeof setup>>;
beforeEach(async () => {
  world = await setup();
});
afterEach(() => world.end());

async function setup() {
  const clock = createFakeClock();
  const client = createFakePodClient({
    objects: ['a', 'b'].map((name) => pod(name).on('n1').uid(`uid-${name}`).build()),
  });
  const informer = createInformer<Pod>({ client, name: 'pods', clock, logger: createFakeLogger() });
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  await settle();
  const told: string[] = [];
  const refusals = new Map<string, Error[]>();
  const evict = async ({ name }: { name: string }, options: DeleteOptions = {}): Promise<Pod> => {
    told.push(`evict ${name}${options.gracePeriodSeconds === undefined ? '' : ` ${options.gracePeriodSeconds}`}`);
    const refusal = refusals.get(name)?.shift();
    if (refusal) throw refusal;
    return client.stored(`default/${name}`)!;
  };
  const interrupt = new AbortController();
  return {
    ...{ clock, client, told, refusals, interrupt },
    drain(disableEviction = false) {
      const report = {
        begins: ({ metadata }: Pod) => void told.push(`begins ${metadata?.name}`),
        waits: ({ metadata }: Pod, why: string) => void told.push(`${metadata?.name} waits: ${why}`),
        ended: ({ metadata }: Pod) => void told.push(`ended ${metadata?.name}`),
        failed: ({ metadata }: Pod, error: unknown) => void told.push(`failed ${metadata?.name}: ${(error as Error).message}`),
      };
      const calls = { evict, delete: async (key: { name: string }) => evict({ name: `delete ${key.name}` }) };
      const options = { client: { pods: calls as never }, pods: informer, disableEviction, deleteOptions: {}, clock, report };
      const ending = endPods(informer.lister.list(), options, interrupt.signal);
      return ending.then((left) => left.map(({ metadata }) => metadata?.name));
    },
    async end() {
      stop.abort();
      await running;
    },
  };
}

async function remove(name: string): Promise<void> {
  world.client.remove(`default/${name}`);
  await settle();
}

describe('ending the pods of a node', () => {
  it('asks for all at once, and is done when all are gone', async () => {
    const ending = world.drain();
    await settle();
    expect(world.told.toSorted()).toEqual(['begins a', 'begins b', 'evict a', 'evict b']);
    await remove('b');
    await remove('a');
    expect(await ending).toEqual([]);
    expect(world.told.slice(4)).toEqual(['ended b', 'ended a']);
  });

  it('tries a pod again every 5 s while its budget does not allow it, and says each reason once', async () => {
    world.refusals.set('a', [budget('first'), budget('first'), budget('second')]);
    const ending = world.drain();
    await world.clock.advance(14_999);
    expect(world.told.filter((line) => line.startsWith('a waits'))).toEqual([
      'a waits: the disruption budget first needs 2',
      'a waits: the disruption budget second needs 2',
    ]);
    await world.clock.advance(1);
    expect(world.told.filter((line) => line === 'evict a')).toHaveLength(4);
    await remove('a');
    await remove('b');
    expect(await ending).toEqual([]);
  });

  it('goes on when the server is away for a while', async () => {
    world.refusals.set('a', [unavailable('away')]);
    const ending = world.drain();
    await world.clock.advance(5_000);
    await remove('a');
    await remove('b');
    expect(await ending).toEqual([]);
  });

  it('leaves a pod that cannot be ended, and ends the others', async () => {
    world.refusals.set('a', [permissionDenied('you may not')]);
    const ending = world.drain();
    await remove('b');
    expect(await ending).toEqual(['a']);
    expect(world.told).toContain('failed a: you may not');
  });

  it('takes a pod that is gone, or that is another by now, for ended', async () => {
    world.refusals.set('a', [notFound({ kind: 'Pod', name: 'a' })]);
    const ending = world.drain();
    await settle();
    world.client.put(pod('b').on('n1').uid('another').build());
    await remove('a');
    expect(await ending).toEqual([]);
  });

  it('stops when it is interrupted, while it waits for a budget and while it waits for an end', async () => {
    world.refusals.set(
      'a',
      Array.from({ length: 9 }, () => budget('first')),
    );
    const before = world.clock.pending;
    const ending = world.drain();
    await world.clock.advance(7_000);
    world.interrupt.abort();
    expect(await ending).toEqual(['a', 'b']);
    expect(world.clock.pending).toBe(before);
  });

  it('deletes without asking budgets when told to', async () => {
    const ending = world.drain(true);
    await settle();
    expect(world.told).toContain('evict delete a');
    await remove('a');
    await remove('b');
    expect(await ending).toEqual([]);
  });
});
