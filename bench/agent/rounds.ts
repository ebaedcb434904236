import { setTimeout as delay } from 'node:timers/promises';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import type { Pod } from '../../client/index.ts';
import type { BenchBerth } from '../berth.ts';
import type { Engine } from '../engine.ts';
import { inParallel, seconds } from '../figure.ts';

const image = 'berth/busybox:latest';
/** What the engine runs where it is driven directly. */
export const floorImages = { sandbox: 'berth/pause:3', container: image };

/** Seconds until all pods ran, and until they were gone. */
export interface Sample {
  readonly run: number;
  readonly remove: number;
}

/** The agent makes it when it starts. */
export async function untilSandboxImage(engine: Engine): Promise<void> {
  while (!(await engine.hasImage(floorImages.sandbox))) await delay(200);
}

export async function ensureImage(engine: Engine): Promise<void> {
  if (!(await engine.hasImage(image))) throw new Error(`image ${image} is not here: run hack/images first`);
}

export async function floorRound(engine: Engine, count: number, limit: number): Promise<Sample> {
  const ids: (readonly string[])[] = [];
  const run = await seconds(() =>
    inParallel(count, limit, async (index) => {
      ids[index] = await engine.runPod(`floor-${process.pid}-${index}`);
    }),
  );
  const remove = await seconds(() => inParallel(count, limit, (index) => engine.removePod(ids[index] ?? [])));
  return { run, remove };
}

export interface BerthRound {
  readonly count: number;
  /** What the pods run; by default a program that ignores the wish to end. */
  readonly command?: readonly string[];
  readonly gracePeriodSeconds?: number;
  readonly container?: object;
  readonly onRunning?: () => Promise<void>;
}

/**
 * Creates pods through the API, and measures until a watch has seen all running, and then until it has seen all gone.
 */
export async function berthRound(
  { client, nodeName }: Pick<BenchBerth, 'client' | 'nodeName'>,
  engine: Engine,
  round: BerthRound,
): Promise<Sample> {
  const { count, gracePeriodSeconds = 1 } = round;
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
        else if (isPodReady(object)) running.add(name);
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
    await inParallel(count, 16, async (index) => void (await client.pods.create(podOf(names[index] ?? '', round))));
    await within(count, reached.running.promise, () => `${running.size} of ${count} pods run`);
  });
  await round.onRunning?.();
  const remove = await seconds(async () => {
    await inParallel(count, 16, async (index) => {
      await client.pods.delete({ namespace: 'default', name: names[index] ?? '' }, { gracePeriodSeconds });
    });
    await within(count, reached.gone.promise, () => `${gone.size} of ${count} pods are gone`);
  });
  stop.abort();
  await watching;
  const left = await engine.count(`io.berth.pod.namespace=default`, `io.berth.node=${nodeName}`);
  if (left > 0) throw new Error(`${left} containers are left after all pods were gone`);
  return { run, remove };
}

function podOf(name: string, { command = ['sleep', '3600'], container = {} }: BerthRound): Pod {
  return {
    metadata: { name, namespace: 'default', labels: { bench: 'pods' } },
    spec: {
      containers: [
        {
          name: 'main',
          image,
          imagePullPolicy: 'IfNotPresent',
          command: [...command],
          resources: { requests: { cpu: { string: '10m' } } },
          ...container,
        },
      ],
    },
  };
}

/** Throws what `reached` says when that takes longer than a minute and five seconds for each pod. */
async function within(count: number, done: Promise<unknown>, reached: () => string): Promise<void> {
  const seconds = 60 + 5 * count;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`${reached()} after ${seconds} s: see the events of the pods, and what the agent says`));
    }, 1_000 * seconds);
  });
  await Promise.race([done, late]).finally(() => {
    clearTimeout(timer);
  });
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
