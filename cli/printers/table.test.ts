import { describe, expect, it } from 'vitest';
import { createTablePrinter } from './table.ts';

const now = new Date('2026-01-01T00:10:00Z');
const columns = [
  { name: 'NAME', type: 'string', priority: 0 },
  { name: 'IP', type: 'string', priority: 1 },
  { name: 'AGE', type: 'date', priority: 0 },
];
const rows = [
  { cells: ['web', '10.0.0.1', '2026-01-01T00:09:30Z'], name: 'web', namespace: 'default', labels: { app: 'web', a: 'b' } },
  { cells: ['a-long-name', '', ''], name: 'a-long-name', namespace: 'other' },
];
const plain = { wide: false, headers: true, showLabels: false, showNamespace: false, namePrefix: '', now: () => now };

describe('the table printer', () => {
  it('aligns columns and turns dates into ages', () => {
    expect(createTablePrinter(columns, plain)(rows)).toBe('NAME          AGE\nweb           30s\na-long-name   <unknown>\n');
  });

  it('shows wide columns, namespaces and labels when asked', () => {
    const text = createTablePrinter(columns, { ...plain, wide: true, showNamespace: true, showLabels: true })(rows);
    expect(text.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['NAMESPACE', 'NAME', 'IP', 'AGE', 'LABELS'],
      ['default', 'web', '10.0.0.1', '30s', 'a=b,app=web'],
      ['other', 'a-long-name', '<none>', '<unknown>', '<none>'],
      [''],
    ]);
  });

  it('gives labels columns of their own', () => {
    const print = createTablePrinter(columns, { ...plain, labelColumns: ['app', 'example.com/tier'] });
    expect(print(rows)).toBe('NAME          AGE         APP   TIER\nweb           30s         web\na-long-name   <unknown>\n');
  });

  it('prints the headings once when rows come one by one', () => {
    const print = createTablePrinter(columns, { ...plain, namePrefix: 'pod/' });
    expect(print(rows.slice(0, 1))).toBe('NAME      AGE\npod/web   30s\n');
    expect(print(rows.slice(1))).toBe('pod/a-long-name   <unknown>\n');
  });

  it('shows the first line of a longer text, and control characters as characters', () => {
    const print = createTablePrinter([{ name: 'MESSAGE', type: 'string', priority: 0 }], { ...plain, headers: false });
    expect(print([{ cells: ['one\ntwo'] }, { cells: ['\u001b[2Jgone'] }])).toBe('one...\n^[[2Jgone\n');
  });

  it('counts ages anew for each row that comes', () => {
    let at = now;
    const print = createTablePrinter(columns, { ...plain, headers: false, now: () => at });
    expect(print(rows.slice(0, 1))).toBe('web   30s\n');
    at = new Date(now.getTime() + 60_000);
    expect(print(rows.slice(0, 1))).toBe('web   90s\n');
  });
});
