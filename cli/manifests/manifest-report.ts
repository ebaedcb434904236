import { FIELD_MANAGER_CONFLICT } from '../../api/apply/conflicts.ts';
import type { ManifestDocument, ManifestProblem } from '../../api/codec/yaml.ts';
import { asApiError } from '../../api/errors/index.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { describeFailure } from '../program/failure.ts';

/** How many problems of one document are shown. */
const maxShown = 20;

/** What to do about an apply that conflicts with other managers. */
const conflictAdvice = [
  'Other managers own the fields above with other values. Either',
  '- take them over: apply again with --force-conflicts, or',
  '- leave them to the others: remove the fields from the manifest, or',
  '- own them together: give them the value that they have; they are yours when the others give them up.',
].join('\n');

/**
 * What went wrong with a document, for standard error: "FILE:LINE: PATH: REASON",
 * and a line for each problem when there are several.
 */
export function describeManifestFailure(document: ManifestDocument, error?: unknown): string {
  if ('problems' in document) return problemLines(document.file, document.subject ?? 'the document', document.problems);
  const { file, line, kind, object, locate } = document;
  const violations = asApiError(error)?.violations ?? [];
  if (violations[0]?.reason === FIELD_MANAGER_CONFLICT)
    return `${file}:${line}: ${asApiError(error)?.message}\n${conflictAdvice}`;
  if (violations.length === 0) return `${file}:${line}: ${describeFailure(error)}`;
  const problems = violations.map(({ field, description }) => ({ ...locate(field), reason: description }));
  return problemLines(file, `${kind.singular} "${nameOf(object)}"`, problems);
}

function problemLines(file: string, subject: string, problems: readonly ManifestProblem[]): string {
  const ordered = problems.toSorted((a, b) => a.line - b.line);
  const lines = ordered.map(({ line, path, reason }) => `${file}:${line}: ${path === '' ? '' : `${path}: `}${reason}`);
  if (lines.length === 1) return lines[0] ?? '';
  const shown = lines.slice(0, maxShown).map((each) => `  ${each}`);
  if (lines.length > maxShown) shown.push(`  and ${lines.length - maxShown} more`);
  return [`${file}: ${subject} has ${lines.length} problems:`, ...shown].join('\n');
}

/**
 * A warning of the server with the place of the field that it begins with: "FILE:LINE:
 * spec.hostPID is not acted on: ...".
 */
export function describeManifestWarning(document: ManifestDocument, warning: string): string {
  if ('problems' in document) return warning;
  const [field = ''] = warning.split(' ', 1);
  return `${document.file}:${document.locate(field).line}: ${warning}`;
}

export function nameOf(object: ApiObject): string {
  return object.metadata?.name ?? object.metadata?.generateName ?? '';
}
