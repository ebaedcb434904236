export interface PlotOptions {
  /** Characters a line. */
  readonly width: number;
  /** Lines of the plot itself. */
  readonly height: number;
  /** The value at the top; the bottom is 0. */
  readonly top: number;
  /** The words at the top and at the bottom of the axis. */
  readonly labels: readonly [top: string, bottom: string];
  /** How wide the words of the axis are, so that several plots stand below each other. */
  readonly labelWidth: number;
  /** Whether the terminal shows more than ASCII. */
  readonly unicode: boolean;
}

/** Dots of a braille character from the bottom up, of its left and of its right column. */
const dots = [
  [0x40, 0x04, 0x02, 0x01],
  [0x80, 0x20, 0x10, 0x08],
] as const;
const emptyBraille = 0x2800;
const dotRows = 4;

/** How many values a plot of this width takes: as many as it has columns of dots. */
export function plotColumns({ width, labelWidth, unicode }: Pick<PlotOptions, 'width' | 'labelWidth' | 'unicode'>): number {
  const characters = Math.max(1, width - labelWidth - 2);
  return unicode ? characters * 2 : characters;
}

/**
 * Values as an area above an axis, one for each column; NaN is left empty.
 * A value that is not 0 has a dot at least. Pure.
 */
export function plotArea(values: readonly number[], options: PlotOptions): string[] {
  const { height, top, labels, labelWidth, unicode } = options;
  const columns = plotColumns(options);
  const rows = height * (unicode ? dotRows : 1);
  const heights = Array.from({ length: columns }, (_, i) => heightOf(values[i] ?? Number.NaN, top, rows));
  return Array.from({ length: height }, (_, line) => {
    const text = unicode ? brailleLine(heights, height - 1 - line) : asciiLine(heights, height - 1 - line);
    const label = line === 0 ? labels[0] : line === height - 1 ? labels[1] : '';
    return `${label.padStart(labelWidth)} ${axis(label !== '', unicode)}${text}`.trimEnd();
  });
}

function axis(labelled: boolean, unicode: boolean): string {
  if (!unicode) return labelled ? '+' : '|';
  return labelled ? '┤' : '│';
}

function heightOf(value: number, top: number, rows: number): number {
  if (Number.isNaN(value) || value <= 0 || top <= 0) return 0;
  return Math.min(rows, Math.max(1, Math.round((value / top) * rows)));
}

function brailleLine(heights: readonly number[], fromBottom: number): string {
  let line = '';
  for (let at = 0; at < heights.length; at += 2) {
    let bits = 0;
    for (const side of [0, 1] as const) {
      const filled = (heights[at + side] ?? 0) - fromBottom * dotRows;
      for (let row = 0; row < Math.min(filled, dotRows); row++) bits |= dots[side][row]!;
    }
    line += bits === 0 ? ' ' : String.fromCharCode(emptyBraille + bits);
  }
  return line;
}

function asciiLine(heights: readonly number[], fromBottom: number): string {
  return heights.map((height) => (height > fromBottom ? '#' : ' ')).join('');
}

/**
 * Moments of samples spread over so many columns of equal time: the mean of each column,
 * NaN where there is no sample. Pure.
 */
export function spread(times: readonly number[], values: readonly number[], columns: number): number[] {
  const [first = 0, last = 0] = [times[0], times.at(-1)];
  const sums = new Array<number>(columns).fill(0);
  const counts = new Array<number>(columns).fill(0);
  times.forEach((time, i) => {
    const value = values[i] ?? Number.NaN;
    if (Number.isNaN(value)) return;
    const at = last === first ? columns - 1 : Math.min(columns - 1, Math.floor(((time - first) / (last - first)) * columns));
    sums[at]! += value;
    counts[at]! += 1;
  });
  const means = sums.map((sum, i) => (counts[i] === 0 ? Number.NaN : sum / counts[i]!));
  return fillBetween(times, values, means);
}

/**
 * With more columns than samples a column in between has the value of the sample before it,
 * unless that is followed by a gap.
 */
function fillBetween(times: readonly number[], values: readonly number[], means: number[]): number[] {
  const columns = means.length;
  if (times.length >= columns || times.length < 2) return means;
  const [first, last] = [times[0]!, times.at(-1)!];
  const columnMs = (last - first) / columns;
  return means.map((mean, i) => {
    if (!Number.isNaN(mean)) return mean;
    const moment = first + i * columnMs;
    const next = times.findIndex((time) => time > moment);
    const [before, after] = [values[next - 1] ?? Number.NaN, values[next] ?? Number.NaN];
    return Number.isNaN(after) ? Number.NaN : before;
  });
}
