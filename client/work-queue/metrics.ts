import { fastSeconds, type MetricTable, slowSeconds } from '../../api/metrics/index.ts';

/** What work queues measure, each under its name. docs/metrics.md is made from this. */
export const workQueueMetrics = {
  depth: { name: 'workqueue_depth', type: 'gauge', help: 'Keys that wait for a worker.', labels: ['name'] },
  adds: { name: 'workqueue_adds_total', type: 'counter', help: 'Keys that were put into the queue.', labels: ['name'] },
  queued: {
    name: 'workqueue_queue_duration_seconds',
    type: 'histogram',
    help: 'How long keys waited for a worker.',
    labels: ['name'],
    buckets: fastSeconds,
  },
  worked: {
    name: 'workqueue_work_duration_seconds',
    type: 'histogram',
    help: 'How long the work on a key took.',
    labels: ['name'],
    buckets: slowSeconds,
  },
  retries: {
    name: 'workqueue_retries_total',
    type: 'counter',
    help: 'Keys that were put back because the work on them failed.',
    labels: ['name'],
  },
  unfinished: {
    name: 'workqueue_unfinished_work_seconds',
    type: 'gauge',
    help: 'How long the work has taken so far that is not finished yet, of all workers together.',
    labels: ['name'],
  },
  longest: {
    name: 'workqueue_longest_running_processor_seconds',
    type: 'gauge',
    help: 'How long the worker that has worked longest has been at its key.',
    labels: ['name'],
  },
} as const satisfies MetricTable;
