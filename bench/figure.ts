/** One figure of a benchmark: printed as one JSON line. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /**
   * The most (or, with `atLeast`, the least) it may be; null where there is no bound and the figure only explains
   * others.
   */
  readonly bound: number | null;
  readonly ok: boolean;
}

const round = (value: number): number => Number(value.toPrecision(4));

/** A figure that must not exceed its bound. */
export function atMost(name: string, value: number, unit: string, bound: number): Figure {
  return { name, value: round(value), unit, bound: round(bound), ok: value <= bound };
}

/** A figure that must reach its bound. */
export function atLeast(name: string, value: number, unit: string, bound: number): Figure {
  return { name, value: round(value), unit, bound: round(bound), ok: value >= bound };
}

/** A figure without a bound of its own. */
export function note(name: string, value: number, unit: string): Figure {
  return { name, value: round(value), unit, bound: null, ok: true };
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The middle value; of an even count the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = sorted.length >> 1;
  if (sorted.length === 0) throw new Error('the median of nothing is not defined');
  return sorted.length % 2 === 1 ? sorted[at]! : (sorted[at - 1]! + sorted[at]!) / 2;
}

/** Runs `task` for 0..count-1, at most `limit` at once; fails with the first failure. */
export async function inParallel(count: number, limit: number, task: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await task(next++);
  };
  await Promise.all(Array.from({ length: Math.min(limit, count) }, worker));
}

/** Seconds that `task` took. */
export async function seconds(task: () => Promise<unknown>): Promise<number> {
  const begin = process.hrtime.bigint();
  await task();
  return Number(process.hrtime.bigint() - begin) / 1e9;
}
