import type { Pod } from '../client/index.ts';
import { type BenchBerth, startBerth } from './berth.ts';
import { createEngine, type Engine, floorLabel } from './engine.ts';
import { atMost, type Figure, inParallel, median, note, seconds } from './figure.ts';

const image = 'berth/busybox:latest';
/** What the engine runs where it is driven directly. */
export const floorImages = { sandbox: 'berth/pause:1', container: image };

interface Sample {
  readonly run: number;
  readonly remove: number;
}

/**
 * `npm run bench -- pods`: how long it takes until N pods run and until they are gone, against the engine driven directly in the same
 * run. Rounds alternate, so that a drifting machine hits both; figures are medians.
 */
export async function benchPods(say: (text: string) => void): Promise<Figure[]> {
  const engine = createEngine(floorImages);
  await ensureImage(engine);
  await engine.removeAll(floorLabel);
  const berth = await startBerth();
  try {
    const pairs = async (count: number, rounds: number, limits: readonly number[]) => {
      const floors = new Map<number, Sample[]>(limits.map((limit) => [limit, []]));
      const ours: Sample[] = [];
      for (let round = 0; round < rounds; round++) {
        for (const limit of limits) floors.get(limit)?.push(await floorRound(engine, count, limit));
        ours.push(await berthRound(berth, engine, count));
        say(`${count} pods, round ${round + 1}/${rounds}: berth ${ours.at(-1)?.run.toFixed(2)} s`);
      }
      for (const [limit, samples] of floors) {
        say(`${count} pods, the engine alone, ${limit} at once: ${median(samples.map((sample) => sample.run)).toFixed(2)} s`);
      }
      const best = (pick: (sample: Sample) => number): number =>
        Math.min(...[...floors.values()].map((samples) => median(samples.map(pick))));
      return {
        floor: { run: best((sample) => sample.run), remove: best((sample) => sample.remove) },
        ours: { run: median(ours.map((sample) => sample.run)), remove: median(ours.map((sample) => sample.remove)) },
      };
    };

    await pairs(1, 2, [1]); // Warms up both.
    const one = await pairs(1, 11, [1]);
    const twenty = await pairs(20, 3, [4, 8, 12]);
    const hundred = await pairs(100, 2, [4, 8, 12]);
    return [
      note('floor 1 pod p50', one.floor.run, 's'),
      atMost('1 pod p50', one.ours.run, 's', one.floor.run + 0.12),
      note('floor 20 pods', twenty.floor.run, 's'),
      atMost('20 pods', twenty.ours.run, 's', twenty.floor.run * 1.2),
      note('20 pods ratio', twenty.ours.run / twenty.floor.run, 'x'),
      note('floor 100 pods', hundred.floor.run, 's'),
      atMost('100 pods', hundred.ours.run, 's', hundred.floor.run * 1.15),
      note('100 pods ratio', hundred.ours.run / hundred.floor.run, 'x'),
      note('floor removal of 100 pods', hundred.floor.remove, 's'),
      atMost('deletion of 100 pods', hundred.ours.remove, 's', hundred.floor.remove * 1.6 + 1),
    ];
  } finally {
    await berth.stop();
    await engine.removeAll(floorLabel);
    await engine.removeAll(`io.berth.node=${berth.nodeName}`);
  }
}

export async function ensureImage(engine: Engine): Promise<void> {
  if (!(await engine.hasImage(image))) throw new Error(`image ${image} is not here: run hack/images first`);
}

async function floorRound(engine: Engine, count: number, limit: number): Promise<Sample> {
  const ids: (readonly string[])[] = [];
  const run = await seconds(() =>
    inParallel(count, limit, async (index) => {
      ids[index] = await engine.runPod(`floor-${process.pid}-${index}`);
    }),
  );
  const remove = await seconds(() => inParallel(count, limit, (index) => engine.removePod(ids[index] ?? [])));
  return { run, remove };
}

function podOf(name: string): Pod {
  return {
    metadata: { name, namespace: 'default', labels: { bench: 'pods' } },
    spec: {
      containers: [
        {
          name: 'main',
          image,
          imagePullPolicy: 'IfNotPresent',
          command: ['sleep', '3600'],
          resources: { requests: { cpu: { string: '10m' } } },
        },
      ],
    },
  };
}

/** Creates pods through the API, and measures until a watch has seen all running, and then until it has seen all gone. */
export async function berthRound(
  { client, nodeName }: Pick<BenchBerth, 'client' | 'nodeName'>,
  engine: Engine,
  count: number,
  onRunning: () => Promise<void> = async () => undefined,
): Promise<Sample> {
  const names = Array.from({ length: count }, (_, index) => `bench-${index}`);
  const stop = new AbortController();
  const running = new Set<string>();
  const gone = new Set<string>();
  const { metadata } = await client.pods.list({ namespace: 'default', limit: 1 });
  const reached = { running: deferred(), gone: deferred() };
  const watching = (async () => {
    for await (const events of client.pods.watch(
      { namespace: 'default', resourceVersion: metadata.resourceVersion },
      { signal: stop.signal },
    )) {
      for (const { type, object } of events) {
        const name = object.metadata?.name ?? '';
        if (type === 'DELETED') gone.add(name);
        else if (object.status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True')) running.add(name);
      }
      if (running.size === count) reached.running.resolve(undefined);
      if (gone.size === count) reached.gone.resolve(undefined);
    }
  })().catch((error: unknown) => {
    if (stop.signal.aborted) return;
    reached.running.reject(error);
    reached.gone.reject(error);
  });
  const run = await seconds(async () => {
    await inParallel(count, 16, async (index) => void (await client.pods.create(podOf(names[index] ?? ''))));
    await reached.running.promise;
  });
  await onRunning();
  const remove = await seconds(async () => {
    await inParallel(count, 16, async (index) => {
      await client.pods.delete({ namespace: 'default', name: names[index] ?? '' }, { gracePeriodSeconds: 1 });
    });
    await reached.gone.promise;
  });
  stop.abort();
  await watching;
  const left = await engine.count(`io.berth.node=${nodeName}`);
  if (left > 0) throw new Error(`${left} containers are left after all pods were gone`);
  return { run, remove };
}

/** A promise that is settled from outside. */
function deferred() {
  let resolve: (value?: unknown) => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise((yes, no) => {
    resolve = yes;
    reject = no;
  });
  // Both sides may fail at once; the one that is awaited reports it.
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}
