import type { TableColumn, TableRow } from '../../api/generated/types.ts';
import { formatAge } from '../printers/age.ts';

/** The columns of `berth events`; everything else that the server's table of events has goes into these. */
export const eventColumns: readonly TableColumn[] = ['LAST SEEN', 'TYPE', 'REASON', 'OBJECT', 'MESSAGE'].map((name) => ({
  name,
  type: 'string',
}));

/**
 * Rows of the server's table of events as `berth events` shows them, those of the wanted types only; no types:
 * all. Pure.
 */
export function eventRows(
  columns: readonly TableColumn[],
  rows: readonly TableRow[],
  { types, nowMs }: { readonly types: readonly string[]; readonly nowMs: number },
): TableRow[] {
  const places = new Map(columns.map(({ name }, at) => [name, at]));
  const cell = (row: TableRow, name: string): string => row.cells?.[places.get(name) ?? -1] ?? '';
  const wanted = new Set(types.map((type) => type.toLowerCase()));
  return rows
    .filter((row) => wanted.size === 0 || wanted.has(cell(row, 'TYPE').toLowerCase()))
    .map((row) => {
      const seen = { last: cell(row, 'LAST SEEN'), first: cell(row, 'FIRST SEEN'), count: Number(cell(row, 'COUNT')) };
      return {
        ...row,
        cells: [seenText(seen, nowMs), ...['TYPE', 'REASON', 'OBJECT', 'MESSAGE'].map((name) => cell(row, name))],
      };
    });
}

/** "12s", or "12s (x4 over 3m)" for what was seen more than once. */
export function seenText(
  { last, first, count }: { readonly last: string; readonly first: string; readonly count: number },
  nowMs: number,
): string {
  const since = ageText(last, nowMs);
  return count > 1 ? `${since} (x${count} over ${ageText(first || last, nowMs)})` : since;
}

function ageText(time: string, nowMs: number): string {
  const at = Date.parse(time);
  return Number.isNaN(at) ? '<unknown>' : formatAge(nowMs - at);
}
