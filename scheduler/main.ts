import { randomInt } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { MetricsRegistry } from '../api/metrics/index.ts';
import type { LinkedAbort } from '../client/abort.ts';
import { stderrLogger, systemClock } from '../client/index.ts';
import { createCache } from './cache/cache.ts';
import { expire } from './expire.ts';
import { createInformers, createStorage, observe, waitForAll } from './informers.ts';
import { leadWhenElected, runInTerms } from './leadership.ts';
import { createMeter, measureQueue } from './metrics.ts';
import { createObserver } from './observer.ts';
import type { RunSchedulerOptions } from './options.ts';
import { createAnswers } from './placements/answers.ts';
import { defaultBinder } from './plugins/default-binder.ts';
import { createEvictor } from './preemption/evictor.ts';
import { defaultPlan, helpsBy, makeProfile, type ProfilePlan, queueOrderOf } from './profile.ts';
import { createSchedulingQueue } from './queue/scheduling-queue.ts';
import { createReporter } from './reporter.ts';
import { createScheduler, maximumBindings } from './scheduler.ts';

/** See config/read-config.ts; loaded by those alone who have a configuration. */
export const readSchedulerConfig = async (file: string): Promise<readonly ProfilePlan[]> =>
  (await import('./config/read-config.ts')).readSchedulerConfig(file);

export type { RunSchedulerOptions } from './options.ts';

/** Informers, queues, timers: about a dozen; more would be a leak. */
const otherListeners = 30;

/**
 * Places pods until `signal` aborts; then the bindings under way end, and it returns. Has nothing to remember: started
 * again, it finds in the API what is to be done, and so does one that has lost its leadership. Several may run at once:
 * the API server refuses the binding that would take too much or comes second. Throws LeadershipOverrunError when the
 * process is to be ended, INVALID_ARGUMENT for an election that cannot be.
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
    profiles: plans = [defaultPlan(options.schedulerName)],
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
  const schedulerNames = new Set(plans.map(({ schedulerName }) => schedulerName));
  const meter = createMeter(metrics, schedulerNames);
  const cache = createCache({ now: clock.now });
  const writes = { pods: writer.resource('Pod'), events: writer.resource('Event') };
  const reporter = createReporter({ ...writes, cached: pods, clock, logger, metrics });
  const evictor = createEvictor({ pods: writes.pods, reporter, clock, logger });
  const sources = {
    bind: defaultBinder(bindings),
    storage: createStorage(informers, { client, clock }),
    preemption: { budgets: informers.budgets.lister, isLeaving: evictor.isLeaving },
  };
  const profiles = plans.map((plan) => makeProfile(plan, sources));
  const queue = createSchedulingQueue({ order: queueOrderOf(profiles[0]!, logger), helps: helpsBy(profiles), clock });
  const waitingSince = (uid: string) => queue.waitingSince(uid);
  const placements = createAnswers({ profiles, cache, find: pods.lister.get, waitingSince, client, clock, logger });
  const observer = createObserver({ schedulerNames, cache, queue });
  observe(informers, observer);
  pods.addHandler(evictor.pods);
  const scheduler = createScheduler({ profiles, cache, queue, reporter, evictor, placements, random, clock, logger, meter });
  const endMeasuring = measureQueue(metrics, () => queue.sizes());
  let telling = Promise.resolve();
  const work = async (leading: AbortSignal) => {
    expectListeners(leading);
    logger.info({ schedulerNames: [...schedulerNames] }, 'scheduler started');
    options.started?.();
    // Its last words take their time; what ends with the leadership are decisions and bindings.
    telling = reporter.run(leading);
    await Promise.all([scheduler.run(leading), placements.serve(leading)]);
  };
  const schedule = async () => {
    await waitForAll(informers, signal);
    const { schedulerName } = plans[0]!;
    const election = options.leaderElection;
    if (!signal.aborted) await leadWhenElected({ client, schedulerName, election, clock, random, logger, metrics }, work, signal);
    // Another may have decided what is not known here yet: after a lost leadership everything begins anew.
    own.abort();
    await telling;
  };
  try {
    await Promise.all([
      ...Object.values(informers).map((informer) => informer.run(signal)),
      schedule(),
      expire({ cache, clock, find: pods.lister.get, setPod: observer.setPod }, signal),
    ]);
  } finally {
    endMeasuring();
    // All calls are answered by now; how the streams end does not matter.
    void bindings.close();
    void writer.close();
  }
}
