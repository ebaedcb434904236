import { expect, it } from 'vitest';
import { plainTable } from './plain-table.ts';

it('aligns columns, leaves empty cells empty, and leaves the headings out when there are none', () => {
  const rows = [
    ['pods', 'po', 'true'],
    ['leases', '', 'true'],
  ];
  expect(plainTable(['NAME', 'SHORT', 'NAMESPACED'], rows)).toBe(
    'NAME     SHORT   NAMESPACED\npods     po      true\nleases           true\n',
  );
  expect(plainTable(undefined, rows)).toBe('pods     po   true\nleases        true\n');
});
