import { randomInt } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { defaultSchedulerName } from '../api/meta/well-known.ts';
import { MetricsRegistry } from '../api/metrics/index.ts';
import type { LinkedAbort } from '../client/abort.ts';
import { type Client, type Clock, type Logger, stderrLogger, systemClock } from '../client/index.ts';
import { createCache } from './cache/cache.ts';
import { expire } from './expire.ts';
import type { PodInfo } from './framework/pod-info.ts';
import { createInformers, createStorage, observe, waitForAll } from './informers.ts';
import { leadWhenElected, runInTerms, type SchedulerElection } from './leadership.ts';
import { createMeter, measureQueue } from './metrics.ts';
import { createObserver } from './observer.ts';
import { createExplainer } from './placements/explainer.ts';
import { createPlacementLog } from './placements/placement-log.ts';
import { servePlacements } from './placements/serve.ts';
import { defaultBinder } from './plugins/default-binder.ts';
import { createEvictor } from './preemption/evictor.ts';
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
  /** For several of which one works: the others follow the cluster and take over. Absent: it works at once, whoever else does. */
  readonly leaderElection?: SchedulerElection | undefined;
  /** Called whenever it begins to place pods. */
  readonly started?: () => void;
}

/** Informers, queues, timers: about a dozen; more would be a leak. */
const otherListeners = 30;

/**
 * Places pods until `signal` aborts; then the bindings under way end, and it returns. Has nothing to remember: started again, it finds in the API
 * what is to be done, and so does one that has lost its leadership. Several may run at once: the API server refuses the binding that would take
 * too much or comes second. Throws LeadershipOverrunError when the process is to be ended, INVALID_ARGUMENT for an election that cannot be.
 */
export function runScheduler(options: RunSchedulerOptions, signal: AbortSignal): Promise<void> {
  return runInTerms((own) => runLoops(options, own), signal);
}

async function runLoops(options: RunSchedulerOptions, own: LinkedAbort): Promise<void> {
  const { signal } = own;
  // Every binding under way listens, besides the loops: that is no leak.
  const expectListeners = (to: AbortSignal) => setMaxListeners(maximumBindings + otherListeners, to);
  expectListeners(signal);
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
  const informers = createInformers({ client, clock, logger });
  const { pods } = informers;
  const meter = createMeter(metrics);
  const cache = createCache({ now: clock.now });
  const writes = { pods: writer.resource('Pod'), events: writer.resource('Event') };
  const reporter = createReporter({ ...writes, current: pods.lister.get, clock, logger, metrics });
  const evictor = createEvictor({ schedulerName, pods: writes.pods, reporter, clock, logger });
  const profile = defaultProfile(defaultBinder(bindings), schedulerName, {
    storage: createStorage(informers, { client, clock }),
    preemption: { budgets: informers.budgets.lister, isLeaving: evictor.isLeaving },
  });
  const queue = createSchedulingQueue({ order: queueOrderOf(profile), helps: helpsBy(profile), clock });
  const placements = createPlacementLog();
  const observer = createObserver({ schedulerName, cache, queue });
  observe(informers, observer);
  pods.addHandler(evictor.pods);
  const scheduler = createScheduler({ profile, cache, queue, reporter, evictor, placements, random, clock, logger, meter });
  const explainer = createExplainer({ profile, cache, placements, find: pods.lister.get, now: clock.now });
  const endMeasuring = measureQueue(metrics, queue.sizes);

  let telling = Promise.resolve();
  const work = async (leading: AbortSignal) => {
    expectListeners(leading);
    logger.info({ schedulerName }, 'scheduler started');
    options.started?.();
    // Its last words take their time; what ends with the leadership are decisions and bindings.
    telling = reporter.run(leading);
    await Promise.all([scheduler.run(leading), servePlacements({ client, schedulerName, explainer, clock, logger }, leading)]);
  };
  const schedule = async () => {
    await waitForAll(informers, signal);
    const election = options.leaderElection;
    if (!signal.aborted) await leadWhenElected({ client, schedulerName, election, clock, random, logger, metrics }, work, signal);
    // Another may have decided what is not known here yet: after a lost leadership everything begins anew.
    own.abort();
    await telling;
  };
  const askAgain = (pod: PodInfo) => {
    const current = pods.lister.get(pod.key);
    if (current?.metadata?.uid === pod.uid) observer.setPod(current);
  };
  try {
    await Promise.all([
      ...Object.values(informers).map((informer) => informer.run(signal)),
      schedule(),
      expire({ cache, clock, askAgain }, signal),
    ]);
  } finally {
    endMeasuring();
    // Everything has its answer by now; how the streams end concerns nobody.
    void bindings.close();
    void writer.close();
  }
}
