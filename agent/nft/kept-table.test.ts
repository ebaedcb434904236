import { expect, it } from 'vitest';
import { nameOfTable } from './kept-table.ts';

const kind = { prefix: 'berth' };
const owner = { cluster: 'prod', node: 'node-1.example' };

it('names a table after cluster, node and turn, and no two owners alike', () => {
  expect(nameOfTable(kind, owner, 0)).toBe('berth_prod_node-1.example_0');
  expect(nameOfTable(kind, { cluster: 'a-b', node: 'c' }, 0)).not.toBe(nameOfTable(kind, { cluster: 'a', node: 'b-c' }, 0));
  const long = { cluster: 'c'.repeat(63), node: 'n'.repeat(253) };
  expect(nameOfTable(kind, long, 1).length).toBeLessThan(128);
  expect(nameOfTable(kind, long, 1)).not.toBe(nameOfTable(kind, { ...long, cluster: 'd' }, 1));
});
