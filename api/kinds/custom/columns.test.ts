import { expect, it } from 'vitest';
import type { JsonObject } from '../../meta/merge-patch.ts';
import { customColumns } from './columns.ts';

const cellOf = (jsonPath: string, object: JsonObject): string =>
  customColumns([{ name: 'Phase', type: 'string', jsonPath }])[1]!.cell(object, new Date(0));

it('a column whose path finds a value in very many ways is empty, and others are not', () => {
  const chain = (depth: number): JsonObject => (depth === 0 ? { phase: 'x' } : { a: chain(depth - 1) });
  const object = { spec: chain(100), status: { phase: 'Ready' } };
  expect(cellOf(`.spec${'..a'.repeat(8)}`, object)).toBe('');
  expect(cellOf('.status.phase', object)).toBe('Ready');
  expect(cellOf('.spec..phase', object)).toBe('x');
});
