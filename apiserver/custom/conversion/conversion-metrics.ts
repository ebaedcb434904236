import {
  type Counter,
  type Family,
  fastSeconds,
  type Histogram,
  type MetricsRegistry,
  type MetricTable,
} from '../../../api/metrics/index.ts';

const labels = ['result', 'failure_type'] as const;

/**
 * What is measured of conversion webhooks; docs/metrics.md is made from this. Of more than 2,000 series the rest are
 * "other".
 */
export const conversionMetrics = {
  requests: {
    name: 'apiserver_conversion_webhook_request_total',
    type: 'counter',
    help: 'Calls of conversion webhooks by result (success, failure), and why they failed: conversion_webhook_call_failure (it could not be asked), conversion_webhook_malformed_response_failure, conversion_webhook_partial_response_failure (another number of objects), conversion_webhook_invalid_converted_object_failure.',
    labels: [...labels],
  },
  requestDurations: {
    name: 'apiserver_conversion_webhook_duration_seconds',
    type: 'histogram',
    help: 'How long calls of conversion webhooks took, with the wait for a place among the calls of the same one, by result and failure type.',
    labels: [...labels],
    buckets: fastSeconds,
  },
  durations: {
    name: 'apiserver_crd_conversion_webhook_duration_seconds',
    type: 'histogram',
    help: 'The same by the definition, the version of the first object of the call, the version that was asked for, and whether it succeeded.',
    labels: ['crd_name', 'from_version', 'to_version', 'succeeded'],
    buckets: fastSeconds,
  },
} satisfies MetricTable;

/** Kubernetes' names for what goes wrong. */
export type ConversionFailureType =
  | 'conversion_webhook_call_failure'
  | 'conversion_webhook_malformed_response_failure'
  | 'conversion_webhook_partial_response_failure'
  | 'conversion_webhook_invalid_converted_object_failure';

export interface ConversionCall {
  /** The name of the definition, and API versions with their group. */
  readonly definition: string;
  readonly from: string;
  readonly to: string;
  readonly seconds: number;
  readonly failure?: ConversionFailureType | undefined;
}

/** Counts calls of conversion webhooks. The families are there from the start, without a series. */
export class ConversionMeter {
  readonly #requests: Family<Counter>;
  readonly #requestDurations: Family<Histogram>;
  readonly #durations: Family<Histogram>;

  constructor(metrics: MetricsRegistry) {
    this.#requests = metrics.counter(conversionMetrics.requests);
    this.#requestDurations = metrics.histogram(conversionMetrics.requestDurations);
    this.#durations = metrics.histogram(conversionMetrics.durations);
  }

  called({ definition, from, to, seconds, failure }: ConversionCall): void {
    const result = [failure ? 'failure' : 'success', failure ?? ''] as const;
    this.#requests.with(...result).inc();
    this.#requestDurations.with(...result).observe(seconds);
    this.#durations.with(definition, versionOf(from), versionOf(to), String(!failure)).observe(seconds);
  }
}

const versionOf = (apiVersion: string): string => apiVersion.slice(apiVersion.lastIndexOf('/') + 1);
