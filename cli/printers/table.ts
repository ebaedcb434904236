import type { TableColumn, TableRow } from '../../api/generated/types.ts';
import { formatAge } from './age.ts';
import { visible } from './visible.ts';

export interface TableOptions {
  readonly wide: boolean;
  readonly headers: boolean;
  readonly showLabels: boolean;
  /** Labels that have a column of their own (`-L`). */
  readonly labelColumns?: readonly string[];
  readonly showNamespace: boolean;
  /** Put before each name, e.g. "pod/". */
  readonly namePrefix: string;
  /** Ages are as of the moment of printing. */
  readonly now: () => Date;
}

/**
 * Prints rows as kubectl does: columns three spaces apart, dates as ages. For a stream of rows (`-w`) call it again
 * with the same value: the widths only grow and the headings are printed once.
 */
export function createTablePrinter(
  columns: readonly TableColumn[],
  options: TableOptions,
): (rows: readonly TableRow[]) => string {
  const { labelColumns = [] } = options;
  const shown = columns
    .map((column, index) => ({ column, index }))
    .filter(({ column }) => options.wide || (column.priority ?? 0) === 0);
  const headings = [
    ...(options.showNamespace ? ['NAMESPACE'] : []),
    ...shown.map(({ column }) => column.name ?? ''),
    ...labelColumns.map(labelHeading),
    ...(options.showLabels ? ['LABELS'] : []),
  ];
  const widths = headings.map((heading) => (options.headers ? heading.length : 0));
  let headed = !options.headers;

  const cellsOf = (row: TableRow): string[] => [
    ...(options.showNamespace ? [row.namespace ?? ''] : []),
    ...shown.map(({ column, index }) => {
      const text = cellText(column, row.cells?.[index] ?? '', options.now());
      return index === 0 ? options.namePrefix + text : text;
    }),
    ...labelColumns.map((key) => row.labels?.[key] ?? ''),
    ...(options.showLabels ? [labelText(row.labels)] : []),
  ];

  return (rows) => {
    const lines = rows.map(cellsOf);
    if (!headed) lines.unshift(headings);
    headed = true;
    for (const line of lines)
      line.forEach((cell, at) => {
        widths[at] = Math.max(widths[at] ?? 0, cell.length);
      });
    return lines
      .map(
        (line) =>
          `${line
            .map((cell, at) => cell.padEnd(widths[at] ?? 0))
            .join('   ')
            .trimEnd()}\n`,
      )
      .join('');
  };
}

/** "app.kubernetes.io/name" stands above its column as NAME. */
function labelHeading(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1).toUpperCase();
}

function cellText(column: TableColumn, text: string, now: Date): string {
  if (column.type !== 'date') return text === '' ? '<none>' : oneLine(text);
  const at = Date.parse(text);
  if (!Number.isNaN(at)) return formatAge(now.getTime() - at);
  return text === '<none>' ? text : '<unknown>';
}

/** A cell is one line: of a longer text it has the first, as with kubectl. */
function oneLine(text: string): string {
  const [first = ''] = text.split(/[\n\r\f\v]/);
  return visible(first.length < text.length ? `${first}...` : text);
}

function labelText(labels: TableRow['labels']): string {
  const pairs = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return pairs.length === 0 ? '<none>' : pairs.sort().join(',');
}
