import { type StructuredPatchHunk, structuredPatch } from 'diff';

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
  const how = { context: contextLines, maxEditLength: maxEdits };
  const found = structuredPatch('', '', before, after, undefined, undefined, how);
  const hunks = found ? found.hunks : [replaced(before, after)];
  return [`--- ${options.before}`, `+++ ${options.after}`, ...hunks.flatMap(shown), ''].join('\n');
}

type Hunk = Omit<StructuredPatchHunk, 'linedelimiters'>;

/** All of the one text taken away, all of the other put in its place. */
function replaced(before: string, after: string): Hunk {
  const [old, next] = [linesOf(before), linesOf(after)];
  const lines = [...old.map((line) => `-${line}`), ...next.map((line) => `+${line}`)];
  return { oldStart: 1, oldLines: old.length, newStart: 1, newLines: next.length, lines };
}

function linesOf(text: string): string[] {
  if (text === '') return [];
  return (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n');
}

function shown({ oldStart, oldLines, newStart, newLines, lines }: Hunk): string[] {
  const heading = `@@ -${range(oldStart, oldLines)} +${range(newStart, newLines)} @@`;
  // The library's note that a text does not end with a line break.
  return [heading, ...lines.filter((line) => !line.startsWith('\\'))];
}

/** An empty range is named by the line before it. */
function range(start: number, count: number): string {
  return count === 1 ? `${start}` : `${count === 0 ? start - 1 : start},${count}`;
}
