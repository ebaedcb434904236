import {
  type Counter,
  type Family,
  fastSeconds,
  type Histogram,
  type MetricsRegistry,
  type MetricTable,
} from '../../../api/metrics/index.ts';

const labels = ['name', 'type'] as const;

/** What is measured of webhooks; docs/metrics.md is made from this. Of more than 2,000 series the rest are "other". */
export const webhookMetrics = {
  durations: {
    name: 'apiserver_admission_webhook_admission_duration_seconds',
    type: 'histogram',
    help: 'How long calls of webhooks took, with the wait for a place among the calls of the same one, by webhook and type (mutating, validating).',
    labels: [...labels],
    buckets: fastSeconds,
  },
  requests: {
    name: 'apiserver_admission_webhook_request_total',
    type: 'counter',
    help: 'Calls of webhooks by webhook, type, operation (CREATE, UPDATE, DELETE), and whether the request was refused because of it.',
    labels: [...labels, 'operation', 'rejected'],
  },
  rejections: {
    name: 'apiserver_admission_webhook_rejection_count',
    type: 'counter',
    help: 'Requests that were refused because of a webhook, by webhook, type, operation, and error_type: no_error (it said so), calling_webhook_error (it could not be asked, or gave no usable answer).',
    labels: [...labels, 'operation', 'error_type'],
  },
  failOpen: {
    name: 'apiserver_admission_webhook_fail_open_count',
    type: 'counter',
    help: 'Calls of webhooks that failed and were passed over, because failurePolicy is "Ignore", by webhook and type.',
    labels: [...labels],
  },
} satisfies MetricTable;

export type WebhookType = 'mutating' | 'validating';
export type Outcome = 'allowed' | 'denied' | 'failed' | 'ignored';

/** Counts calls of webhooks. The families are there from the start, without a series. */
export class WebhookMeter {
  readonly #durations: Family<Histogram>;
  readonly #requests: Family<Counter>;
  readonly #rejections: Family<Counter>;
  readonly #failOpen: Family<Counter>;

  constructor(metrics: MetricsRegistry) {
    this.#durations = metrics.histogram(webhookMetrics.durations);
    this.#requests = metrics.counter(webhookMetrics.requests);
    this.#rejections = metrics.counter(webhookMetrics.rejections);
    this.#failOpen = metrics.counter(webhookMetrics.failOpen);
  }

  called(name: string, type: WebhookType, operation: string, outcome: Outcome, seconds: number): void {
    const isRefused = outcome === 'denied' || outcome === 'failed';
    this.#durations.with(name, type).observe(seconds);
    this.#requests.with(name, type, operation, String(isRefused)).inc();
    if (outcome === 'ignored') this.#failOpen.with(name, type).inc();
    if (!isRefused) return;
    const errorType = outcome === 'denied' ? 'no_error' : 'calling_webhook_error';
    this.#rejections.with(name, type, operation, errorType).inc();
  }
}
