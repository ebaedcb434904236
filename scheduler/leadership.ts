import type { MetricsRegistry } from '../api/metrics/index.ts';
import { type LinkedAbort, linkAbort } from '../client/abort.ts';
import { type Client, type Clock, type LeaderElectionOptions, type Logger, runLeaderElected } from '../client/index.ts';
import { schedulerMetrics } from './metrics.ts';

/** How schedulers that stand by for each other choose the one that works. */
export interface SchedulerElection
  extends Pick<LeaderElectionOptions, 'namespace' | 'identity' | 'leaseDurationMs' | 'renewDeadlineMs' | 'retryPeriodMs'> {
  /** Of the lease (default: the scheduler's name). */
  readonly name?: string | undefined;
}

export interface LeadershipOptions {
  readonly client: Pick<Client, 'leases'>;
  readonly schedulerName: string;
  /** Absent: no lease is taken. */
  readonly election: SchedulerElection | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
}

/**
 * Does the work when it is this process's turn, until its lease is lost or `signal` aborts.
 * Throws what runLeaderElected throws.
 */
export async function leadWhenElected(
  options: LeadershipOptions,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { client, schedulerName, election, clock, random, logger, metrics } = options;
  if (election === undefined) return work(signal);
  const name = election.name ?? schedulerName;
  const isLeading = metrics.gauge(schedulerMetrics.leading).with(name);
  const lead = async (leading: AbortSignal): Promise<void> => {
    isLeading.set(1);
    try {
      await work(leading);
    } finally {
      isLeading.set(0);
    }
  };
  await runLeaderElected({ ...election, leases: client.leases, name, clock, random, logger }, lead, signal);
}

/** Runs until `signal` aborts, from the beginning each time that it ends before; what it has begun is ended with it. */
export async function runInTerms(run: (own: LinkedAbort) => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const own = linkAbort(signal);
    try {
      await run(own);
    } finally {
      own.abort();
      own.unlink();
    }
  }
}
