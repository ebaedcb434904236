import { expect, it } from 'vitest';
import { deleteOptionsOf } from './delete.ts';

const options = (flags: Partial<Parameters<typeof deleteOptionsOf>[0]>, cascadeGiven = false) =>
  deleteOptionsOf({ cascade: 'background', ...flags }, cascadeGiven);

it.each([
  ['nothing: the object says how long it takes', {}, {}],
  ['a grace period', { gracePeriod: 5 }, { gracePeriodSeconds: 5 }],
  ['--now: one second', { now: true }, { gracePeriodSeconds: 1 }],
  ['0 seconds without --force: one second, so that the containers end first', { gracePeriod: 0 }, { gracePeriodSeconds: 1 }],
  ['0 seconds with --force: at once', { gracePeriod: 0, force: true }, { gracePeriodSeconds: 0 }],
  ['--force alone: at once', { force: true }, { gracePeriodSeconds: 0 }],
  ['a rehearsal on the server', { dryRun: 'server' as const }, { dryRun: ['All'] }],
])('asks for %s', (_title, flags, expected) => expect(options(flags)).toEqual(expected));

it('says what becomes of dependents only when asked', () => {
  expect(options({ cascade: 'orphan' }, true)).toEqual({ propagationPolicy: 'Orphan' });
});

it('refuses flags that contradict each other', () => {
  expect(() => options({ now: true, gracePeriod: 5 })).toThrow('--now and --grace-period');
  expect(() => options({ force: true, gracePeriod: 5 })).toThrow('--force takes no grace period but 0');
});
