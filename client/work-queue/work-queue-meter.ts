import type { Counter, Histogram, MetricsRegistry } from '../../api/metrics/index.ts';
import { workQueueMetrics as table } from './metrics.ts';

export interface MeteredQueue {
  readonly name: string;
  readonly now: () => number;
  readonly length: () => number;
}

/**
 * Measures one work queue. Knows since when each key waits or is worked on;
 * keys that are added again while they wait count once.
 */
export class WorkQueueMeter {
  readonly #now: () => number;
  readonly #adds: Counter;
  readonly #retries: Counter;
  readonly #queued: Histogram;
  readonly #worked: Histogram;
  readonly #waitingSince = new Map<string, number>();
  readonly #workingSince = new Map<string, number>();
  readonly #leave: readonly (() => void)[];

  constructor(metrics: MetricsRegistry, { name, now, length }: MeteredQueue) {
    this.#now = now;
    this.#adds = metrics.counter(table.adds).with(name);
    this.#retries = metrics.counter(table.retries).with(name);
    this.#queued = metrics.histogram(table.queued).with(name);
    this.#worked = metrics.histogram(table.worked).with(name);
    const one = (value: () => number) => () => [{ labels: [name], value: value() }];
    const running = (): number[] => [...this.#workingSince.values()].map((since) => (now() - since) / 1000);
    this.#leave = [
      metrics.read(table.depth, one(length)),
      metrics.read(
        table.unfinished,
        one(() => running().reduce((sum, each) => sum + each, 0)),
      ),
      metrics.read(
        table.longest,
        one(() => running().reduce((most, each) => Math.max(most, each), 0)),
      ),
    ];
  }

  added(key: string): void {
    this.#adds.inc();
    if (!this.#waitingSince.has(key)) this.#waitingSince.set(key, this.#now());
  }

  taken(key: string): void {
    const now = this.#now();
    this.#queued.observe((now - (this.#waitingSince.get(key) ?? now)) / 1000);
    this.#waitingSince.delete(key);
    this.#workingSince.set(key, now);
  }

  finished(key: string): void {
    const now = this.#now();
    this.#worked.observe((now - (this.#workingSince.get(key) ?? now)) / 1000);
    this.#workingSince.delete(key);
  }

  retried(): void {
    this.#retries.inc();
  }

  close(): void {
    for (const leave of this.#leave) leave();
  }
}
