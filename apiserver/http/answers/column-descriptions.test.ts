import { expect, it } from 'vitest';
import { kinds } from '../../../api/kinds/index.ts';
import { columnDescription, describedColumns } from './column-descriptions.ts';

const columns = kinds.flatMap((kind) => kind.columns);
/** Of tables that are not made from columns of a kind: component statuses and the metrics of pods. */
const ofOtherTables = ['MESSAGE', 'ERROR', 'WINDOW'];

it('each column of a kind of our own has a description', () => {
  const without = columns.filter(({ name, description }) => !description && columnDescription(name) === '');
  expect([columns.length > 200, without.map(({ name }) => name)]).toEqual([true, []]);
});

it('no description is of a column that no table has', () => {
  const names = new Set([...columns.map(({ name }) => name), ...ofOtherTables]);
  expect(describedColumns.filter((name) => !names.has(name))).toEqual([]);
});

it('a name of a JavaScript object is no column', () => {
  expect(columnDescription('constructor')).toBe('');
});
