import type { DocumentProblem } from '../../api/codec/yaml-document.ts';

/** So many problems of one file are told. */
const mostTold = 20;

/**
 * A configuration that cannot be used, with everything that is wrong with it: "FILE:LINE:COLUMN: PATH: REASON",
 * a line for each.
 */
export class ConfigurationError extends Error {
  constructor(file: string, problems: readonly DocumentProblem[]) {
    super(wordProblems(file, problems));
    this.name = 'ConfigurationError';
  }
}

function wordProblems(file: string, problems: readonly DocumentProblem[]): string {
  const ordered = problems.toSorted((a, b) => a.place.line - b.place.line || a.place.column - b.place.column);
  const lines = ordered.map(
    ({ place: { line, column }, path, reason }) => `${file}:${line}:${column}: ${path === '' ? '' : `${path}: `}${reason}`,
  );
  if (lines.length === 1) return lines[0]!;
  const told = lines.slice(0, mostTold).map((line) => `  ${line}`);
  if (lines.length > mostTold) told.push(`  and ${lines.length - mostTold} more`);
  return [`${file}: the scheduler's configuration has ${lines.length} problems:`, ...told].join('\n');
}
