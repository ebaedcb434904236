import type { TableColumn, TableRow } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kinds/kind.ts';

/** Rows as a person wants to read them: in order of the kind's column of time, where it has one, else as they come. */
export function orderRows(
  kind: Pick<Kind, 'shownInOrderOf'>,
  columns: readonly TableColumn[],
  rows: readonly TableRow[],
): readonly TableRow[] {
  const at = columns.findIndex(({ name }) => name !== undefined && name === kind.shownInOrderOf);
  if (at < 0) return rows;
  return rows.toSorted((a, b) => timeOf(a, at) - timeOf(b, at) || compareBirths(a.name ?? '', b.name ?? ''));
}

/** Names of events end in the millisecond and the turn they were made in, which orders those of one second. */
export function compareBirths(a: string, b: string): number {
  const [left, right] = [a.slice(a.lastIndexOf('.') + 1), b.slice(b.lastIndexOf('.') + 1)];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** A row without a time is older than all. */
function timeOf(row: TableRow, at: number): number {
  return Date.parse(row.cells?.[at] ?? '') || 0;
}
