import { type Counter, fastSeconds, type MetricsRegistry, type MetricTable } from '../api/metrics/index.ts';

/** What the scheduler measures. docs/metrics.md is made from this. */
export const schedulerMetrics = {
  attempts: {
    name: 'scheduler_schedule_attempts_total',
    type: 'counter',
    help: 'Attempts to place a pod, by the profile (its `spec.schedulerName`) and by result: scheduled (and bound), unschedulable, or error.',
    labels: ['profile', 'result'],
  },
  decisions: {
    name: 'scheduler_scheduling_algorithm_duration_seconds',
    type: 'histogram',
    help: 'How long it took to choose a node, or to find that none fits.',
    buckets: [0.0001, 0.00025, ...fastSeconds],
  },
  bindings: {
    name: 'scheduler_binding_duration_seconds',
    type: 'histogram',
    help: 'How long the API server took to bind a pod, or to refuse.',
    buckets: fastSeconds,
  },
  pending: {
    name: 'scheduler_pending_pods',
    type: 'gauge',
    help: 'Pods that wait for a node, by queue: active (now), backoff (again soon), unschedulable (until something changes), inflight (being placed).',
    labels: ['queue'],
  },
  victims: {
    name: 'scheduler_preemption_victims_total',
    type: 'counter',
    help: 'Pods that were deleted to make room for one that is more important.',
  },
  leading: {
    name: 'leader_election_master_status',
    type: 'gauge',
    help: 'Whether this process holds the lease and works (1) or stands by for the one that does (0).',
    labels: ['name'],
  },
} as const satisfies MetricTable;

/** The scheduler's instruments. */
export type SchedulerMeter = ReturnType<typeof createMeter>;

/** The attempts of one profile, by result. */
export interface AttemptCounters {
  readonly scheduled: Counter;
  readonly unschedulable: Counter;
  readonly error: Counter;
}

export function createMeter(metrics: MetricsRegistry, schedulerNames: Iterable<string>) {
  const attempts = metrics.counter(schedulerMetrics.attempts);
  const attemptsOf = (profile: string): AttemptCounters => ({
    scheduled: attempts.with(profile, 'scheduled'),
    unschedulable: attempts.with(profile, 'unschedulable'),
    error: attempts.with(profile, 'error'),
  });
  return {
    /** By schedulerName. */
    attempts: new Map([...schedulerNames].map((name) => [name, attemptsOf(name)])),
    decisions: metrics.histogram(schedulerMetrics.decisions).with(),
    bindings: metrics.histogram(schedulerMetrics.bindings).with(),
    victims: metrics.counter(schedulerMetrics.victims).with(),
  };
}

/** How many pods are in which part of the queue. */
export interface QueueSizes {
  readonly active: number;
  readonly backoff: number;
  readonly unschedulable: number;
  readonly inflight: number;
}

export function measureQueue(metrics: MetricsRegistry, sizes: () => QueueSizes): () => void {
  return metrics.read(schedulerMetrics.pending, () =>
    Object.entries(sizes()).map(([queue, value]) => ({ labels: [queue], value })),
  );
}
