import type { Counter, Family, Gauge, Histogram, MetricsRegistry } from '../../api/metrics/index.ts';
import { apiserverMetrics } from '../metrics.ts';
import { nameOfCode } from './codes.ts';

const readOnly: ReadonlySet<string> = new Set(['Get', 'GetScale', 'List', 'Kinds', 'Watch', 'History', 'FindVersion']);

/** Measures the calls of all methods. */
export class CallMeters {
  readonly requests: Family<Counter>;
  readonly durations: Family<Histogram>;
  readonly longRunning: Family<Gauge>;
  readonly items: Family<Counter>;
  readonly reading: Gauge;
  readonly writing: Gauge;

  constructor(registry: MetricsRegistry) {
    this.requests = registry.counter(apiserverMetrics.requests);
    this.durations = registry.histogram(apiserverMetrics.durations);
    this.longRunning = registry.gauge(apiserverMetrics.longRunning);
    this.items = registry.counter(apiserverMetrics.items);
    const inFlight = registry.gauge(apiserverMetrics.inFlight);
    this.reading = inFlight.with('readOnly');
    this.writing = inFlight.with('mutating');
  }

  /** The meter of one method, whose path is "/berth.core.v1.Pods/Get". */
  of(path: string, isStream: boolean): CallMeter {
    const [, service = '', method = ''] = path.split('/');
    return new CallMeter(this, service, method, isStream);
  }

  /** Counts the items of one method's streams, by code. */
  itemsOf(path: string): (code: number) => void {
    const [, service = '', method = ''] = path.split('/');
    return countByCode((code) => this.items.with(service, method, code));
  }
}

/** Looks each code's counter up once. */
function countByCode(counterOf: (code: string) => Counter): (code: number) => void {
  const byCode: (Counter | undefined)[] = [];
  return (code) => {
    byCode[code] ??= counterOf(nameOfCode(code));
    byCode[code].value++;
  };
}

/** Measures the calls of one method. On the way of every call: instruments are looked up once. */
export class CallMeter {
  /** Whether its calls change nothing. */
  readonly isReadOnly: boolean;
  readonly #running: Gauge;
  readonly #duration: Histogram | undefined;
  readonly #ended: (code: number) => void;

  constructor(meters: CallMeters, service: string, method: string, isStream: boolean) {
    this.#duration = isStream ? undefined : meters.durations.with(service, method);
    this.isReadOnly = readOnly.has(method);
    const inFlight = this.isReadOnly ? meters.reading : meters.writing;
    this.#running = isStream ? meters.longRunning.with(service, method) : inFlight;
    this.#ended = countByCode((code) => meters.requests.with(service, method, code));
  }

  /** Answers when the call began, for `end`. */
  begin(): number {
    this.#running.value++;
    return performance.now();
  }

  end(beganAt: number, code: number): void {
    this.#running.value--;
    this.#ended(code);
    this.#duration?.observe((performance.now() - beganAt) / 1000);
  }
}
