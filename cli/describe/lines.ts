import { formatAge } from '../printers/age.ts';
import { visible } from '../printers/visible.ts';

/**
 * Text with labels in a column, as `describe` prints it. Values of fields that follow each other stand in one column,
 * however deep each is indented; anything else between them begins a new one. Everything is appended; `text` gives the
 * whole.
 */
export interface Lines {
  /** `label:   value`; several lines of a value stand below each other. An empty value reads <none>. */
  field(label: string, value: string | readonly string[] | undefined): void;
  /** A heading; what `fill` appends stands indented below it. */
  section(heading: string, fill: (inner: Lines) => void): void;
  /**
   * A table below a heading; columns in which every cell is empty are left out.
   * Without rows it is a field that reads <none>. The heading "" is none, and the table is not indented.
   */
  table(heading: string, columns: readonly string[], rows: readonly (readonly string[])[]): void;
  /** A line as it is. */
  line(text: string): void;
  text(): string;
}

type Entry = { readonly line: string } | { readonly label: string; readonly values: readonly string[] };

/** Between the longest label of a column and the values. */
const gap = '  ';
const none = '<none>';

export function createLines(): Lines {
  const entries: Entry[] = [];
  return { ...writer(entries, ''), text: () => render(entries) };
}

function writer(entries: Entry[], indent: string): Omit<Lines, 'text'> {
  return {
    field(label, value) {
      const values = value === undefined ? [] : typeof value === 'string' ? value.split('\n') : value;
      const empty = values.length === 0 || (values.length === 1 && values[0] === '');
      entries.push({ label: `${indent}${label}:`, values: empty ? [none] : values });
    },
    section(heading, fill) {
      entries.push({ line: `${indent}${heading}:` });
      fill({ ...writer(entries, `${indent}  `), text: () => render(entries) });
    },
    table(heading, columns, rows) {
      if (heading === '') entries.push(...tableLines(columns, rows, indent));
      else if (rows.length === 0) entries.push({ label: `${indent}${heading}:`, values: [none] });
      else entries.push({ line: `${indent}${heading}:` }, ...tableLines(columns, rows, `${indent}  `));
    },
    line: (text) => entries.push({ line: `${indent}${text}`.trimEnd() }),
  };
}

function tableLines(columns: readonly string[], rows: readonly (readonly string[])[], indent: string): Entry[] {
  const shown = columns.map((_, at) => at).filter((at) => rows.length === 0 || rows.some((row) => row[at]));
  const all = [columns, columns.map((column) => '-'.repeat(column.length)), ...rows];
  const widths = new Map(shown.map((at) => [at, Math.max(...all.map((row) => (row[at] ?? '').length))]));
  const lineOf = (row: readonly string[]): string => shown.map((at) => (row[at] ?? '').padEnd(widths.get(at) ?? 0)).join(gap);
  return all.map((row) => ({ line: `${indent}${lineOf(row)}`.trimEnd() }));
}

function render(entries: readonly Entry[]): string {
  const out: string[] = [];
  let width = 0;
  entries.forEach((entry, at) => {
    if ('line' in entry) {
      width = 0;
      out.push(entry.line);
      return;
    }
    if (width === 0) width = columnWidth(entries, at);
    entry.values.forEach((value, i) => {
      out.push(`${(i === 0 ? entry.label : '').padEnd(width)}${gap}${value}`.trimEnd());
    });
  });
  return out.map((line) => `${visible(line)}\n`).join('');
}

/** The longest label of the fields that follow each other from here. */
function columnWidth(entries: readonly Entry[], from: number): number {
  let width = 0;
  for (const entry of entries.slice(from)) {
    if ('line' in entry) break;
    width = Math.max(width, entry.label.length);
  }
  return width;
}

/** `key=value` lines of a map, in order of the keys. */
export function pairs(map: unknown, separator = '='): string[] {
  return Object.entries((map ?? {}) as Record<string, unknown>)
    .map(([key, value]) => `${key}${separator}${String(value)}`)
    .sort();
}

/** The age of an RFC 3339 time; <unknown> when there is none. */
export function age(time: unknown, now: Date): string {
  const at = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  return Number.isNaN(at) ? '<unknown>' : formatAge(now.getTime() - at);
}

/** A time for people, in UTC: "Sat, 21 Nov 2026 11:24:08 +0000". */
export function timeText(time: string): string {
  const at = Date.parse(time);
  return Number.isNaN(at) ? time : new Date(at).toUTCString().replace('GMT', '+0000');
}
