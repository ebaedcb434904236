import { type Interval, parseIndexes } from '../../api/kinds/job/indexes.ts';

/** Indexes of a Job, as its status has them: few intervals, however many there are. Never changes. */
export class IndexSet {
  readonly size: number;
  /** In order, with a gap between any two. */
  readonly #intervals: readonly Interval[];

  constructor(intervals: readonly Interval[] = []) {
    this.#intervals = merged(intervals);
    this.size = this.#intervals.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  }

  /** Reads "1,3-5". What is not below `completions` is left out: a Job may have become smaller. */
  static parse(text: string | undefined, completions: number): IndexSet {
    const read = parseIndexes(text ?? '', Infinity);
    if (typeof read === 'string') return new IndexSet();
    const within = read.intervals.filter(([first]) => first < completions);
    return new IndexSet(within.map(([first, last]) => [first, Math.min(last, completions - 1)]));
  }

  has(index: number): boolean {
    let [low, high] = [0, this.#intervals.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#intervals[middle]![1] < index) low = middle + 1;
      else high = middle;
    }
    const found = this.#intervals[low];
    return found !== undefined && found[0] <= index;
  }

  with(indexes: Iterable<number>): IndexSet {
    return new IndexSet([...this.#intervals, ...Array.from(indexes, (index): Interval => [index, index])]);
  }

  union(other: IndexSet): IndexSet {
    return new IndexSet([...this.#intervals, ...other.#intervals]);
  }

  /** How many indexes both have. */
  countCommon(other: IndexSet): number {
    let [i, j, count] = [0, 0, 0];
    while (i < this.#intervals.length && j < other.#intervals.length) {
      const [[first, last], [otherFirst, otherLast]] = [this.#intervals[i]!, other.#intervals[j]!];
      count += Math.max(0, Math.min(last, otherLast) - Math.max(first, otherFirst) + 1);
      if (last < otherLast) i++;
      else j++;
    }
    return count;
  }

  /** The first so many indexes below `completions` that are not in the set. */
  firstAbsent(count: number, completions: number): number[] {
    const found: number[] = [];
    let next = 0;
    for (const [first, last] of [...this.#intervals, [completions, completions] as const]) {
      for (; next < Math.min(first, completions) && found.length < count; next++) found.push(next);
      if (found.length >= count) break;
      next = last + 1;
    }
    return found;
  }

  /** As Kubernetes writes it: "1,3-5", with a comma between two neighbours. */
  toString(): string {
    return this.#intervals
      .map(([first, last]) => (first === last ? `${first}` : `${first}${last === first + 1 ? ',' : '-'}${last}`))
      .join(',');
  }
}

function merged(intervals: readonly Interval[]): Interval[] {
  const result: [number, number][] = [];
  for (const [first, last] of intervals.toSorted(([a], [b]) => a - b)) {
    const open = result.at(-1);
    if (open && first <= open[1] + 1) open[1] = Math.max(open[1], last);
    else result.push([first, last]);
  }
  return result;
}
