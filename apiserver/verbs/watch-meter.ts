import type { Counter, Family, MetricsRegistry } from '../../api/metrics/index.ts';
import { apiserverMetrics } from '../metrics.ts';
import type { ListGate } from './list-gate.ts';

/** Measures the watches of one kind. */
export interface WatchMeter {
  readonly messages: Counter;
  readonly bytes: Counter;
  readonly cutOff: Counter;
}

/** Measures watches, and what lists hold. */
export class WatchMeters {
  readonly #families: Readonly<Record<keyof WatchMeter, Family<Counter>>>;
  readonly #byKind = new Map<string, WatchMeter>();

  constructor(metrics: MetricsRegistry, lists: ListGate) {
    this.#families = {
      messages: metrics.counter(apiserverMetrics.watchMessages),
      bytes: metrics.counter(apiserverMetrics.watchBytes),
      cutOff: metrics.counter(apiserverMetrics.watchersEnded),
    };
    metrics.read(apiserverMetrics.listBytes, () => lists.read((gate) => gate.usedBytes));
    metrics.read(apiserverMetrics.listsWaiting, () => lists.read((gate) => gate.waitingLists));
    metrics.read(apiserverMetrics.listsRefused, () => lists.read((gate) => gate.refusedLists));
  }

  /** Of a group resource (`resourceOf`). */
  of(resource: string): WatchMeter {
    const known = this.#byKind.get(resource);
    if (known) return known;
    const { messages, bytes, cutOff } = this.#families;
    const made = { messages: messages.with(resource), bytes: bytes.with(resource), cutOff: cutOff.with(resource) };
    this.#byKind.set(resource, made);
    return made;
  }
}
