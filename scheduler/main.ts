import { randomInt } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { defaultSchedulerName } from '../api/meta/well-known.ts';
import { MetricsRegistry } from '../api/metrics/index.ts';
import { linkAbort } from '../client/abort.ts';
import { type Client, type Clock, createInformer, type Logger, pause, stderrLogger, systemClock } from '../client/index.ts';
import { type Cache, createCache } from './cache/cache.ts';
import type { PodInfo } from './framework/pod-info.ts';
import { createMeter, measureQueue } from './metrics.ts';
import { createObserver } from './observer.ts';
import { defaultBinder } from './plugins/default-binder.ts';
import { defaultProfile, helpsBy, queueOrderOf } from './profile.ts';
import { createSchedulingQueue } from './queue/scheduling-queue.ts';
import { createReporter } from './reporter.ts';
import { createScheduler, maximumBindings } from './scheduler.ts';

export interface RunSchedulerOptions {
  readonly client: Client;
  /** Whose pods: those with this `spec.schedulerName`. Default "default-scheduler". */
  readonly schedulerName?: string;
  /** From 0 (included) to 1 (excluded): chooses among equally good nodes. */
  readonly random?: () => number;
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly metrics?: MetricsRegistry;
}

/** Informers, queues, timers: about a dozen; more would be a leak. */
const otherListeners = 30;
/** How often placements that the API never showed are looked for. */
const expiryCheckMs = 5_000;

/**
 * Places pods until `signal` aborts; then the bindings under way end, and it returns. Has nothing to remember: started again, it finds in the API
 * what is to be done. Several may run at once: the API server refuses the binding that would take too much or comes second.
 */
export async function runScheduler(options: RunSchedulerOptions, signal: AbortSignal): Promise<void> {
  const own = linkAbort(signal);
  // Every binding under way listens, besides the loops: that is no leak.
  setMaxListeners(maximumBindings + otherListeners, own.signal);
  try {
    await runLoops(options, own.signal);
  } finally {
    own.abort();
    own.unlink();
  }
}

async function runLoops(options: RunSchedulerOptions, signal: AbortSignal): Promise<void> {
  const {
    client,
    schedulerName = defaultSchedulerName,
    clock = systemClock,
    logger = stderrLogger,
    metrics = new MetricsRegistry(),
  } = options;
  const random = options.random ?? (() => randomInt(2 ** 32) / 2 ** 32);
  const bindings = client.pods.bindStream();
  // Every pod that is placed is an event, so these travel together as well.
  const writer = client.bulkWriter({ answers: 'metadata' });
  const profile = defaultProfile(defaultBinder(bindings), schedulerName);
  const cache = createCache({ now: clock.now });
  const queue = createSchedulingQueue({ order: queueOrderOf(profile), helps: helpsBy(profile), clock });
  const reporter = createReporter({ pods: client.pods, events: writer.resource('Event'), clock, logger, metrics });
  const observer = createObserver({ schedulerName, cache, queue });
  const nodes = createInformer({ client: client.nodes, name: 'scheduler nodes', clock, logger });
  const pods = createInformer({ client: client.pods, name: 'scheduler pods', clock, logger });
  nodes.addHandler(observer.nodes);
  pods.addHandler(observer.pods);
  const scheduler = createScheduler({
    profile,
    cache,
    queue,
    reporter,
    pods: client.pods,
    random,
    clock,
    logger,
    meter: createMeter(metrics),
  });
  measureQueue(metrics, queue.sizes);

  const schedule = async () => {
    await nodes.waitForSync(signal);
    await pods.waitForSync(signal);
    if (!signal.aborted) logger.info({ schedulerName }, 'scheduler started');
    await scheduler.run(signal);
  };
  const askAgain = (pod: PodInfo) => {
    const current = pods.lister.get(pod.key);
    if (current?.metadata?.uid === pod.uid) observer.setPod(current);
  };
  try {
    await Promise.all([
      nodes.run(signal),
      pods.run(signal),
      reporter.run(signal),
      schedule(),
      expire({ cache, clock, askAgain }, signal),
    ]);
  } finally {
    // Everything has its answer by now; how the streams end concerns nobody.
    void bindings.close();
    void writer.close();
  }
}

interface Expiry {
  readonly cache: Cache;
  readonly clock: Clock;
  readonly askAgain: (pod: PodInfo) => void;
}

async function expire({ cache, clock, askAgain }: Expiry, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(expiryCheckMs, signal, clock);
    for (const pod of cache.expire()) askAgain(pod);
  }
}
