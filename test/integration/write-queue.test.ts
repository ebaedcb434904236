import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isCancelled } from '../../api/errors/index.ts';
import type { ConfigMap } from '../../api/generated/types.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

/** With a disk: writes of one object outrun one another only while one of them is on its way there. */
let server: RunningServer;
beforeAll(async () => {
  server = await startServer({ backend: 'lmdb' });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

const at = (name: string) => ({ namespace: 'default', name });
const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
const create = (name: string): Promise<ConfigMap> => server.client.configMaps.create({ metadata: at(name), data: {} });
const patch = (name: string, key: string, signal?: AbortSignal): Promise<ConfigMap> =>
  server.client.configMaps.patch(at(name), { data: { [key]: 'x' } }, {}, { timeoutMs: 120_000, signal });
const keysOf = ({ data }: ConfigMap): string[] => Object.keys(data ?? {});
const read = async (name: string): Promise<string[]> => keysOf(await server.client.configMaps.get(at(name)));

describe.each([25, 60, 150])('%i writers of one object at once', (count) => {
  it('all change it, each once', async () => {
    const name = `patched-${count}`;
    await create(name);
    const answers = await Promise.all(range(count).map((i) => patch(name, `k${i}`)));
    expect(new Set(answers.map(({ metadata }) => metadata?.resourceVersion)).size).toBe(count);
    expect(new Set(answers.map((answer) => keysOf(answer).length)).size).toBe(count);
    expect(await read(name)).toHaveLength(count);
  }, 180_000);

  it('all replace it without a resourceVersion', async () => {
    const name = `replaced-${count}`;
    const made = await create(name);
    const { resourceVersion: _, ...metadata } = made.metadata!;
    const { update } = server.client.configMaps;
    const answers = await Promise.all(
      range(count).map((i) => update({ metadata, data: { key: `${i}` } }, {}, { timeoutMs: 120_000 })),
    );
    const newest = await server.client.configMaps.get(at(name));
    expect(answers.filter((answer) => answer.metadata?.resourceVersion === newest.metadata?.resourceVersion)).toEqual([newest]);
  }, 180_000);

  it('write nothing that was not begun when their calls were cancelled', async () => {
    const name = `cancelled-${count}`;
    await create(name);
    const stays = (i: number): boolean => i % 3 === 0;
    const stops = range(count).map(() => new AbortController());
    const writes = range(count).map((i) => patch(name, `k${i}`, stops[i]!.signal));
    const answers = Promise.allSettled(writes);
    await writes[0];
    for (const [i, stop] of stops.entries()) if (!stays(i)) stop.abort();
    // On the same connection: the server has heard of the cancellations before.
    const heard = await read(name);
    const refused = (await answers).flatMap((answer, i) => (answer.status === 'rejected' ? [{ i, error: answer.reason }] : []));
    expect(refused.filter(({ i, error }) => stays(i) || !isCancelled(error))).toEqual([]);
    expect(refused.length).toBeGreaterThan(0);
    const written = await read(name);
    const late = refused.filter(({ i }) => written.includes(`k${i}`) && !heard.includes(`k${i}`));
    // The one that was on its way to the disk.
    expect(late.length).toBeLessThanOrEqual(1);
  }, 180_000);
});

describe('40 evictions at once under a budget of 40', () => {
  const evict = async (app: string, callOf: (i: number) => { signal?: AbortSignal } = () => ({})) => {
    const { pods, podDisruptionBudgets } = server.client;
    await Promise.all(
      range(40).map(async (i) => {
        const metadata = { ...at(`${app}-${i}`), labels: { app } };
        const made = await pods.create({ metadata, spec: { nodeName: 'n1', containers: [{ name: 'main', image: 'x' }] } });
        const conditions = [{ type: 'Ready', status: 'True' }];
        await pods.updateStatus({ ...made, status: { ...made.status, phase: 'Running', conditions } });
      }),
    );
    const spec = { minAvailable: { type: 0, intVal: 1 }, selector: { matchLabels: { app } } };
    const made = await podDisruptionBudgets.create({ metadata: at(app), spec });
    const status = { disruptionsAllowed: 40, currentHealthy: 41, desiredHealthy: 1, expectedPods: 41 };
    await podDisruptionBudgets.updateStatus({ ...made, status: { observedGeneration: made.metadata!.generation!, ...status } });
    return range(40).map((i) => pods.evict(at(`${app}-${i}`), {}, { timeoutMs: 120_000, ...callOf(i) }));
  };
  const counts = async (app: string) => {
    const { status } = await server.client.podDisruptionBudgets.get(at(app));
    const { items } = await server.client.pods.list({ namespace: 'default', labelSelector: `app=${app}` });
    const ending = items.filter(({ metadata }) => metadata?.deletionTimestamp).length;
    return { ending, taken: 40 - status!.disruptionsAllowed!, named: Object.keys(status?.disruptedPods ?? {}).length };
  };

  it('all succeed', async () => {
    await Promise.all(await evict('all'));
    expect(await counts('all')).toEqual({ ending: 40, taken: 40, named: 40 });
  }, 180_000);

  it('take as much from the budget as pods end, also when all calls but the first are cancelled', async () => {
    const stops = range(40).map(() => new AbortController());
    const evictions = await evict('some', (i) => ({ signal: stops[i]!.signal }));
    const answers = Promise.allSettled(evictions);
    await evictions[0];
    for (const stop of stops) stop.abort();
    expect((await answers).filter(({ status }) => status === 'rejected').length).toBeGreaterThan(0);
    const isEven = async () => {
      const { ending, taken, named } = await counts('some');
      return taken === ending && named === ending && ending < 40;
    };
    await expect.poll(isEven, { timeout: 20_000 }).toBe(true);
  }, 180_000);
});
