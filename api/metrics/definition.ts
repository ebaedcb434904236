/** What a metric is called and what it says: one row of docs/metrics.md. */
export interface MetricDefinition {
  /**
   * Kubernetes' name where Kubernetes measures the same thing, `process_` and `nodejs_` as everywhere;
   * all others begin with `berth_`.
   */
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** One sentence: what is counted, and in which unit. */
  readonly help: string;
  readonly labels?: readonly string[];
  /** Of a histogram: the upper bounds of its buckets, growing. */
  readonly buckets?: readonly number[];
}

/** The metrics of one room, by the name that its code uses. */
export type MetricTable = Readonly<Record<string, MetricDefinition>>;

/** From half a millisecond to ten seconds: calls, commits, decisions. */
export const fastSeconds: readonly number[] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** From ten milliseconds to ten minutes: what starts containers or pulls images. */
export const slowSeconds: readonly number[] = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
