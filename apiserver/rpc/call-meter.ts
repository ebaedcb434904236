import { status as codes } from '@grpc/grpc-js';
import type { Counter, Family, Gauge, Histogram, MetricsRegistry } from '../../api/metrics/index.ts';
import { apiserverMetrics } from '../metrics.ts';

const readOnly: ReadonlySet<string> = new Set(['Get', 'List', 'Kinds', 'Watch']);

/** Measures the calls of all methods. */
export class CallMeters {
  readonly requests: Family<Counter>;
  readonly durations: Family<Histogram>;
  readonly longRunning: Family<Gauge>;
  readonly reading: Gauge;
  readonly writing: Gauge;

  constructor(registry: MetricsRegistry) {
    this.requests = registry.counter(apiserverMetrics.requests);
    this.durations = registry.histogram(apiserverMetrics.durations);
    this.longRunning = registry.gauge(apiserverMetrics.longRunning);
    const inFlight = registry.gauge(apiserverMetrics.inFlight);
    this.reading = inFlight.with('readOnly');
    this.writing = inFlight.with('mutating');
  }

  /** The meter of one method, whose path is "/berth.core.v1.Pods/Get". */
  of(path: string, isStream: boolean): CallMeter {
    const [, service = '', method = ''] = path.split('/');
    return new CallMeter(this, service, method, isStream);
  }
}

/** Measures the calls of one method. On the way of every call: instruments are looked up once. */
export class CallMeter {
  readonly #running: Gauge;
  readonly #duration: Histogram | undefined;
  readonly #code: (code: string) => Counter;
  readonly #byCode: (Counter | undefined)[] = [];

  constructor(meters: CallMeters, service: string, method: string, isStream: boolean) {
    this.#duration = isStream ? undefined : meters.durations.with(service, method);
    const inFlight = readOnly.has(method) ? meters.reading : meters.writing;
    this.#running = isStream ? meters.longRunning.with(service, method) : inFlight;
    this.#code = (code) => meters.requests.with(service, method, code);
  }

  /** Answers when the call began, for `end`. */
  begin(): number {
    this.#running.value++;
    return performance.now();
  }

  end(beganAt: number, code: number): void {
    this.#running.value--;
    this.#byCode[code] ??= this.#code(codes[code] ?? 'UNKNOWN');
    this.#byCode[code].value++;
    this.#duration?.observe((performance.now() - beganAt) / 1000);
  }
}
