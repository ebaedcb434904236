import type { Counter, Family, Histogram, MetricsRegistry } from '../../../api/metrics/index.ts';
import { apiserverMetrics } from '../../metrics.ts';
import type { Enforcement, Finding } from './outcome.ts';

/** Measures the policies. Beyond some thousand combinations of labels the registry counts all others together. */
export class PolicyMeters {
  readonly #checks: Family<Counter>;
  readonly #durations: Family<Histogram>;

  constructor(metrics: MetricsRegistry) {
    this.#checks = metrics.counter(apiserverMetrics.policyChecks);
    this.#durations = metrics.histogram(apiserverMetrics.policyDurations);
  }

  count(policy: string, binding: string, error: Finding['error'], enforcement: Enforcement): void {
    this.#checks.with(policy, binding, error, enforcement).value++;
  }

  took(policy: string, seconds: number): void {
    this.#durations.with(policy).observe(seconds);
  }
}
