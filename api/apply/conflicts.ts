import { ApiError, type ErrorSubject, type FieldViolation } from '../errors/api-error.ts';
import type { ApplyConflict } from './apply.ts';
import { entryId, type ManagerEntry } from './managers.ts';
import { fieldPaths } from './steps.ts';

/** The reason of each violation of a refused apply, as Kubernetes has it. */
export const FIELD_MANAGER_CONFLICT = 'FieldManagerConflict';

/** More fields than these are counted instead of named. */
const MAX_NAMED = 100;

interface NamedConflict {
  readonly manager: string;
  readonly field: string;
}

/** The refusal of an apply that would change fields of other managers, in Kubernetes' words. */
export function applyConflict(
  subject: ErrorSubject,
  conflicts: readonly ApplyConflict[],
  entries: readonly ManagerEntry[],
): ApiError {
  const byId = new Map(entries.map((entry) => [entryId(entry), entry]));
  const all = conflicts.flatMap(({ manager, fields }): NamedConflict[] => {
    const name = managerText(byId.get(manager) ?? {});
    return fieldPaths(fields).map((field) => ({ manager: name, field }));
  });
  const violations = all.slice(0, MAX_NAMED).map(
    ({ manager, field }): FieldViolation => ({
      field: field.slice(1),
      description: `conflict with ${manager}`,
      reason: FIELD_MANAGER_CONFLICT,
    }),
  );
  return new ApiError('ABORTED', 'Conflict', conflictText(all), { subject, violations });
}

function conflictText(all: readonly NamedConflict[]): string {
  const [first] = all;
  if (all.length === 1 && first) return `Apply failed with 1 conflict: conflict with ${first.manager}: ${first.field}`;
  const named = all.slice(0, MAX_NAMED);
  const lines = [...new Set(named.map(({ manager }) => manager))].sort().flatMap((manager) => {
    const fields = named.filter((each) => each.manager === manager).map(({ field }) => `- ${field}`);
    return [`conflicts with ${manager}:`, ...fields];
  });
  if (all.length > named.length) lines.push(`and ${all.length - named.length} more`);
  return `Apply failed with ${all.length} conflicts: ${lines.join('\n')}`;
}

function managerText({ manager = '', operation, apiVersion, subresource }: ManagerEntry): string {
  const name = JSON.stringify(manager) + (subresource ? ` with subresource ${JSON.stringify(subresource)}` : '');
  return operation === 'Update' ? `${name} using ${apiVersion}` : name;
}
