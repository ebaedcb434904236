import { expect, test } from 'vitest';
import { auditCells, isShown } from './audit-filter.ts';

const leftOut = { time: '2026-01-02T03:04:05.000Z', user: 'anna', sort: 'reads', leftOut: 12, since: '2026-01-02T03:00:00.000Z' };

test('lines that were left out are shown with their number to those who choose their user, whatever verb they choose', () => {
  expect(auditCells(leftOut)).toEqual([
    leftOut.time,
    'anna',
    '12 lines of reads since 2026-01-02T03:00:00.000Z were left out: there were too many',
  ]);
  expect(isShown(leftOut, { user: 'anna', verb: 'create' })).toBe(true);
  expect(isShown(leftOut, { user: 'bert' })).toBe(false);
  expect(isShown(leftOut, { since: Date.parse('2026-01-03T00:00:00Z') })).toBe(false);
});

test('the last line before others are left out says so', () => {
  const line = { user: 'anna', verb: 'get', resource: 'secrets', stage: 'ended', code: 'OK', moreReads: true };
  expect(auditCells(line).at(-1)).toBe('OK (reads too often: more of that is left out)');
  expect(auditCells({ ...line, moreReads: false, moreRefused: true }).at(-1)).toContain('refused too often');
});
