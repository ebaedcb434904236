/** One line of a comparison: in both texts, only in the first, or only in the second. */
interface Line {
  readonly mark: ' ' | '-' | '+';
  readonly text: string;
}

export interface UnifiedDiffOptions {
  /** What stands behind `---` and `+++`. */
  readonly before: string;
  readonly after: string;
}

const contextLines = 3;
/**
 * The search for the least difference takes time and memory by the square of it;
 * beyond this the texts have nothing to do with each other.
 */
const maxEdits = 2_000;

/** Two texts as `diff -u` compares them, with its heading; empty when they are equal. Pure. */
export function unifiedDiff(before: string, after: string, options: UnifiedDiffOptions): string {
  if (before === after) return '';
  const lines = compareLines(linesOf(before), linesOf(after));
  return [`--- ${options.before}`, `+++ ${options.after}`, ...hunksOf(lines), ''].join('\n');
}

function linesOf(text: string): string[] {
  if (text === '') return [];
  return (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n');
}

function compareLines(a: readonly string[], b: readonly string[]): Line[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const middle = [a.slice(start, a.length - end), b.slice(start, b.length - end)] as const;
  return [...both(a.slice(0, start)), ...(shortestEdit(...middle) ?? replaced(...middle)), ...both(a.slice(a.length - end))];
}

const both = (lines: readonly string[]): Line[] => lines.map((text) => ({ mark: ' ', text }));

function replaced(a: readonly string[], b: readonly string[]): Line[] {
  return [...a.map((text) => ({ mark: '-', text }) as const), ...b.map((text) => ({ mark: '+', text }) as const)];
}

/** Myers' greedy algorithm: how far each diagonal comes with so many edits. Undefined when there are too many. */
function shortestEdit(a: readonly string[], b: readonly string[]): Line[] | undefined {
  const most = Math.min(a.length + b.length, maxEdits);
  const reach = new Int32Array(2 * most + 3);
  const at = (k: number): number => k + most + 1;
  const trace: Int32Array[] = [];
  for (let edits = 0; edits <= most; edits++) {
    trace.push(reach.slice(at(-edits) - 1, at(edits) + 2));
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && reach[at(k - 1)]! < reach[at(k + 1)]!);
      let x = down ? reach[at(k + 1)]! : reach[at(k - 1)]! + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      reach[at(k)] = x;
      if (x >= a.length && x - k >= b.length) return walkBack(a, b, trace);
    }
  }
  return undefined;
}

function walkBack(a: readonly string[], b: readonly string[], trace: readonly Int32Array[]): Line[] {
  const lines: Line[] = [];
  let [x, y] = [a.length, b.length];
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const reach = trace[edits]!;
    const at = (k: number): number => k + edits + 1;
    const k = x - y;
    const down = k === -edits || (k !== edits && reach[at(k - 1)]! < reach[at(k + 1)]!);
    const from = edits === 0 ? 0 : reach[at(down ? k + 1 : k - 1)]!;
    const fromY = edits === 0 ? 0 : from - (down ? k + 1 : k - 1);
    for (; x > from && y > fromY; x--, y--) lines.push({ mark: ' ', text: a[x - 1]! });
    if (edits === 0) break;
    lines.push(down ? { mark: '+', text: b[--y]! } : { mark: '-', text: a[--x]! });
  }
  return lines.reverse();
}

/** The changes with the lines around them; those that are near each other share a hunk. */
function hunksOf(lines: readonly Line[]): string[] {
  const out: string[] = [];
  let [oldLine, newLine] = [1, 1];
  for (let i = 0; i < lines.length; ) {
    if (lines[i]!.mark === ' ' && !changesWithin(lines, i)) {
      oldLine++;
      newLine++;
      i++;
      continue;
    }
    let end = i;
    for (let quiet = 0; end < lines.length && quiet <= 2 * contextLines; end++) quiet = lines[end]!.mark === ' ' ? quiet + 1 : 0;
    while (end > i && trailing(lines, i, end) > contextLines) end--;
    const hunk = lines.slice(i, end);
    const [olds, news] = [hunk.filter(({ mark }) => mark !== '+').length, hunk.filter(({ mark }) => mark !== '-').length];
    out.push(`@@ -${range(oldLine, olds)} +${range(newLine, news)} @@`, ...hunk.map(({ mark, text }) => mark + text));
    [oldLine, newLine, i] = [oldLine + olds, newLine + news, end];
  }
  return out;
}

function changesWithin(lines: readonly Line[], from: number): boolean {
  return lines.slice(from, from + contextLines + 1).some(({ mark }) => mark !== ' ');
}

function trailing(lines: readonly Line[], start: number, end: number): number {
  let count = 0;
  while (end - count > start && lines[end - count - 1]!.mark === ' ') count++;
  return count;
}

/** An empty range is named by the line before it. */
function range(start: number, count: number): string {
  return count === 1 ? `${start}` : `${count === 0 ? start - 1 : start},${count}`;
}
