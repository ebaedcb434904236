import { formatAge } from '../printers/age.ts';

/** Text with labels in a column, as `describe` prints it. Everything is appended; `text` gives the whole. */
export interface Lines {
  /** `label:   value`; several lines of a value stand below each other. An empty value reads <none>. */
  field(label: string, value: string | readonly string[] | undefined): void;
  /** A heading; what `fill` appends stands indented below it. */
  section(heading: string, fill: (inner: Lines) => void): void;
  /** A table below a heading. */
  table(heading: string, columns: readonly string[], rows: readonly (readonly string[])[]): void;
  text(): string;
}

const labelWidth = 18;

export function createLines(indent = ''): Lines {
  const lines: string[] = [];
  return {
    field(label, value) {
      const values = value === undefined ? [] : typeof value === 'string' ? value.split('\n') : value;
      const shown = values.length === 0 || (values.length === 1 && values[0] === '') ? ['<none>'] : values;
      shown.forEach((each, at) => {
        lines.push(`${indent}${(at === 0 ? `${label}:` : '').padEnd(labelWidth - indent.length)} ${each}`.trimEnd());
      });
    },
    section(heading, fill) {
      const inner = createLines(`${indent}  `);
      fill(inner);
      lines.push(`${indent}${heading}:`, inner.text().replace(/\n$/, ''));
    },
    table(heading, columns, rows) {
      if (rows.length === 0) {
        lines.push(`${`${indent}${heading}:`.padEnd(labelWidth)} <none>`);
        return;
      }
      const all = [columns, columns.map((column) => '-'.repeat(column.length)), ...rows];
      const widths = columns.map((_, at) => Math.max(...all.map((row) => (row[at] ?? '').length)));
      lines.push(`${indent}${heading}:`);
      for (const row of all) lines.push(`${indent}  ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ')}`.trimEnd());
    },
    text: () => lines.map((line) => `${line}\n`).join(''),
  };
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
