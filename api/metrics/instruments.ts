/** One number that only grows. */
export class Counter {
  value = 0;

  inc(by = 1): void {
    this.value += by;
  }
}

/** One number that comes and goes. */
export class Gauge {
  value = 0;

  set(value: number): void {
    this.value = value;
  }

  inc(by = 1): void {
    this.value += by;
  }

  dec(by = 1): void {
    this.value -= by;
  }
}

/** How often values fell into which range, and their sum. */
export class Histogram {
  readonly bounds: readonly number[];
  /** By bound, not yet summed up; the last one is for what is above all of them. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    const { bounds } = this;
    let at = 0;
    while (at < bounds.length && value > bounds[at]!) at++;
    this.counts[at]! += 1;
    this.sum += value;
  }
}

export type Instrument = Counter | Gauge | Histogram;
