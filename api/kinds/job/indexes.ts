/** An interval of indexes, both ends included. */
export type Interval = readonly [first: number, last: number];

/** Indexes as the status has them: in order and apart from each other, with their number. */
export interface Indexes {
  readonly intervals: readonly Interval[];
  readonly count: number;
}

const NUMBER = /^\d{1,10}$/;

/** Reads "1,3-5,7"; a text that breaks a rule of the format gives the rule. All indexes are below `completions`. */
export function parseIndexes(text: string, completions: number): Indexes | string {
  const intervals: Interval[] = [];
  let [count, last] = [0, -1];
  for (const part of text === '' ? [] : text.split(',')) {
    const [first = '', second = first, ...more] = part.split('-');
    if (more.length > 0 || !NUMBER.test(first) || !NUMBER.test(second))
      return `"${part}" is neither an index nor an interval such as "3-5"`;
    const [from, to] = [Number(first), Number(second)];
    if (part.includes('-') && from >= to) return `the interval "${part}" must begin before its end`;
    if (to >= completions) return `the index ${to} is not below completions, which is ${completions}`;
    if (from <= last) return `${from} follows ${last}: indexes must be in ascending order`;
    intervals.push([from, to]);
    [count, last] = [count + to - from + 1, to];
  }
  return { intervals, count };
}

/** The first index that both have; undefined when there is none. */
export function commonIndex(a: Indexes, b: Indexes): number | undefined {
  let [i, j] = [0, 0];
  while (i < a.intervals.length && j < b.intervals.length) {
    const [[from, to], [otherFrom, otherTo]] = [a.intervals[i]!, b.intervals[j]!];
    if (from <= otherTo && otherFrom <= to) return Math.max(from, otherFrom);
    if (to < otherFrom) i++;
    else j++;
  }
  return undefined;
}
