/** Parsers of cgroup file formats. Pure and fast: they run for every file of every container. */

const newline = 10;
const zero = 48;
const nine = 57;

/** The whole number that begins at this place; NaN when none does. */
export function numberAt(text: string, start: number): number {
  let value = 0;
  let at = start;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < zero || code > nine) break;
    value = value * 10 + (code - zero);
  }
  return at === start ? Number.NaN : value;
}

/** A file of lines "name number": the numbers that are asked for, each multiplied and put where it belongs. */
export function readFields(text: string, wanted: ReadonlyMap<string, FieldTarget>, into: Float64Array): void {
  for (let start = 0; start < text.length; ) {
    let end = text.indexOf('\n', start);
    if (end < 0) end = text.length;
    const space = text.indexOf(' ', start);
    if (space >= 0 && space < end) {
      const target = wanted.get(text.slice(start, space));
      if (target !== undefined) into[target.figure] = numberAt(text, space + 1) * target.scale;
    }
    start = end + 1;
  }
}

export interface FieldTarget {
  readonly figure: number;
  readonly scale: number;
}

/** Of one line "name word word=number ...": the number behind `key=`; NaN when it is not there. */
export function numberOf(line: string, key: string): number {
  for (let at = line.indexOf(key); at >= 0; at = line.indexOf(key, at + 1)) {
    const standsAlone = at === 0 || line[at - 1] === ' ';
    if (standsAlone && line[at + key.length] === '=') return numberAt(line, at + key.length + 1);
  }
  return Number.NaN;
}

export function countLines(text: string): number {
  let lines = 0;
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) === newline) lines++;
  return lines;
}
