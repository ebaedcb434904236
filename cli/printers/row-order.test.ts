import { expect, it } from 'vitest';
import { kinds } from '../../api/kinds/index.ts';
import { orderRows } from './row-order.ts';

const columns = [{ name: 'LAST SEEN', type: 'date' }, { name: 'REASON' }];
const rows = [
  { cells: ['2026-01-01T10:00:02Z', 'second'] },
  { cells: ['<unknown>', 'whenever'] },
  { cells: ['2026-01-01T10:00:02.5Z', 'third'] },
  { cells: ['2026-01-01T10:00:01Z', 'first'] },
];

it("puts rows in order of the kind's column of time, and leaves those of other kinds alone", () => {
  const order = orderRows({ shownInOrderOf: 'LAST SEEN' }, columns, rows);
  expect(order.map((row) => row.cells?.[1])).toEqual(['whenever', 'first', 'second', 'third']);
  expect(orderRows({}, columns, rows)).toBe(rows);
});

it('orders events of one second by when they were made, which their names tell', () => {
  const cells = ['2026-01-01T10:00:02Z'];
  const names = ['b.19f5e3a1', 'a.19f5e3a2', 'z.x.19f5e3a0'];
  const order = orderRows(
    { shownInOrderOf: 'LAST SEEN' },
    columns,
    names.map((name) => ({ name, cells })),
  );
  expect(order.map((row) => row.name)).toEqual(['z.x.19f5e3a0', 'b.19f5e3a1', 'a.19f5e3a2']);
});

it('is asked for only by kinds that have the column, with dates in it', () => {
  const asking = kinds.filter((kind) => kind.shownInOrderOf !== undefined);
  expect(asking.map(({ kind }) => kind)).toEqual(['Event']);
  for (const kind of asking) expect(kind.columns.find(({ name }) => name === kind.shownInOrderOf)?.type).toBe('date');
});
