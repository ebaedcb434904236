import type { MetricDefinition } from './definition.ts';
import { Counter, Gauge, Histogram, type Instrument } from './instruments.ts';

/**
 * The instruments of one metric, one for each combination of label values. Keep what `with` gives:
 * looking it up costs more than using it.
 */
export interface Family<T extends Instrument> {
  with(...labels: string[]): T;
}

/** A number that is computed when the page is read. */
export interface Reading {
  readonly labels?: readonly string[];
  readonly value: number;
}

/** One metric as it is now. */
export interface MetricSnapshot {
  readonly definition: MetricDefinition;
  readonly samples: readonly { readonly labels: readonly string[]; readonly value: number | Histogram }[];
}

/**
 * A mistake in a label must not fill the memory: beyond so many combinations all share one, whose labels say "other".
 */
const maxInstruments = 2_000;

/**
 * All that one process measures. Components put their metrics in when they are made; a scraper reads all of them now
 * and then. Lean, as it is on the way of every call: an instrument is a number, and costs nothing until it is read.
 */
export class MetricsRegistry {
  readonly #families = new Map<string, InstrumentFamily<Instrument>>();
  readonly #readers = new Map<string, { readonly definition: MetricDefinition; readonly reads: Set<() => Iterable<Reading>> }>();

  readonly #pages = new Map<string, () => Promise<string>>();

  counter(definition: MetricDefinition): Family<Counter> {
    return this.#family(definition, () => new Counter());
  }

  gauge(definition: MetricDefinition): Family<Gauge> {
    return this.#family(definition, () => new Gauge());
  }

  histogram(definition: MetricDefinition): Family<Histogram> {
    return this.#family(definition, () => new Histogram(definition.buckets ?? []));
  }

  /**
   * Measures by asking, until the returned function is called. Several may answer for one metric,
   * with labels of their own.
   */
  read(definition: MetricDefinition, read: () => number | Iterable<Reading>): () => void {
    const known = this.#readers.get(definition.name) ?? { definition, reads: new Set() };
    this.#readers.set(definition.name, known);
    const readAll = (): Iterable<Reading> => {
      const value = read();
      return typeof value === 'number' ? [{ value }] : value;
    };
    known.reads.add(readAll);
    return () => known.reads.delete(readAll);
  }

  /**
   * A page of its own beside /metrics, in Prometheus' text format, made on request: for what only some readers want, or
   * may cost more to read. Until the returned function is called.
   */
  addPage(path: string, make: () => Promise<string>): () => void {
    this.#pages.set(path, make);
    return () => {
      if (this.#pages.get(path) === make) this.#pages.delete(path);
    };
  }

  page(path: string): (() => Promise<string>) | undefined {
    return this.#pages.get(path);
  }

  pagePaths(): string[] {
    return [...this.#pages.keys()];
  }

  /** Everything as it is now, in the order of the names. */
  snapshot(): MetricSnapshot[] {
    const all = new Map<string, MetricSnapshot>();
    for (const family of this.#families.values()) all.set(family.definition.name, family.snapshot());
    for (const { definition, reads } of this.#readers.values()) {
      const samples = [...reads].flatMap((read) => [...read()].map(({ labels = [], value }) => ({ labels, value })));
      all.set(definition.name, { definition, samples });
    }
    return [...all.values()].sort((a, b) => (a.definition.name < b.definition.name ? -1 : 1));
  }

  #family<T extends Instrument>(definition: MetricDefinition, make: () => T): Family<T> {
    const known = this.#families.get(definition.name);
    if (known) return known as InstrumentFamily<T>;
    const family = new InstrumentFamily<T>(definition, make);
    this.#families.set(definition.name, family as unknown as InstrumentFamily<Instrument>);
    return family;
  }
}

class InstrumentFamily<T extends Instrument> implements Family<T> {
  readonly definition: MetricDefinition;
  readonly #make: () => T;
  readonly #instruments = new Map<string, { readonly labels: readonly string[]; readonly value: T }>();

  constructor(definition: MetricDefinition, make: () => T) {
    this.definition = definition;
    this.#make = make;
    // Without labels there is one, and it counts from the start.
    if ((definition.labels ?? []).length === 0) this.with();
  }

  with(...labels: string[]): T {
    const names = this.definition.labels ?? [];
    if (labels.length !== names.length)
      throw new RangeError(`metric ${this.definition.name}: give ${names.length} label values, not ${labels.length}`);
    const key = labels.join('\0');
    const known = this.#instruments.get(key);
    if (known) return known.value;
    if (this.#instruments.size >= maxInstruments && labels.some((label) => label !== 'other'))
      return this.with(...labels.map(() => 'other'));
    const value = this.#make();
    this.#instruments.set(key, { labels, value });
    return value;
  }

  snapshot(): MetricSnapshot {
    const samples = [...this.#instruments.values()].map(({ labels, value }) => ({
      labels,
      value: value instanceof Histogram ? value : value.value,
    }));
    return { definition: this.definition, samples };
  }
}
