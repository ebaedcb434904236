/**
 * Rows of text below headings, three spaces apart as kubectl prints them; an empty cell stays empty. No headings:
 * rows only.
 */
export function plainTable(headings: readonly string[] | undefined, rows: readonly (readonly string[])[]): string {
  const all = headings === undefined ? rows : [headings, ...rows];
  const columns = Math.max(0, ...all.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, at) => Math.max(...all.map((row) => (row[at] ?? '').length)));
  return all
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('   ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
}
