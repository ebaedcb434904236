import { expect, it } from 'vitest';
import type { FieldChange, Revision } from '../../api/generated/types.ts';
import { historyHeadings, historyRows } from './rows.ts';

const options = { now: new Date(600_000), wide: false, full: false };
const revision = (more: Partial<Revision>): Revision => ({
  resourceVersion: '12',
  type: 'MODIFIED',
  time: { seconds: 300 },
  user: 'admin',
  manager: 'berth-patch',
  verb: 'patch',
  uid: 'u',
  ...more,
});
const changesOf = (more: Partial<Revision>, full = false) =>
  historyRows(revision(more), { ...options, full }).map((row) => row.at(-1));

it('has a row for a version, and one below it for each further change', () => {
  const changes: FieldChange[] = [
    { path: 'spec.containers[name=web].image', operation: 'replace', before: '"web:1"', after: '"web:2"' },
    { path: 'metadata.labels.app', operation: 'add', after: '"web"' },
    { path: 'spec.hostNetwork', operation: 'remove', before: 'true' },
  ];
  expect(historyRows(revision({ changes }), options)).toEqual([
    ['12', '5m', 'admin', 'berth-patch', 'patch', 'spec.containers[name=web].image: "web:1" -> "web:2"'],
    ['', '', '', '', '', 'metadata.labels.app: <none> -> "web"'],
    ['', '', '', '', '', 'spec.hostNetwork: true -> <none>'],
  ]);
});

it('says in words what has no changes', () => {
  expect(changesOf({ type: 'ADDED' })).toEqual(['(created)']);
  expect(changesOf({ type: 'DELETED' })).toEqual(['(deleted)']);
  expect(changesOf({ beforeUnknown: true })).toEqual(['(unknown: the version before is no longer kept)']);
  expect(changesOf({})).toEqual(['(none that shows)']);
});

it('shows no value of a secret', () => {
  const hidden = (operation: string): FieldChange => ({ path: 'data.password', operation, hidden: true });
  expect(changesOf({ changes: [hidden('add'), hidden('replace'), hidden('remove')] }, true)).toEqual([
    'data.password: added (not shown)',
    'data.password: changed (not shown)',
    'data.password: removed (not shown)',
  ]);
});

it('shortens long values and many changes, unless all is asked for', () => {
  const long: FieldChange = { path: 'data.a', operation: 'add', after: `"${'x'.repeat(100)}"` };
  expect(changesOf({ changes: [long] })).toEqual([`data.a: <none> -> "${'x'.repeat(47)}...`]);
  expect(changesOf({ changes: [long] }, true)).toEqual([`data.a: <none> -> "${'x'.repeat(100)}"`]);
  expect(changesOf({ changes: [{ ...long, after: '"xx', cut: true }] }, true)).toEqual(['data.a: <none> -> "xx...']);
  const many = Array.from({ length: 15 }, (_, i) => ({ path: `data.k${i}`, operation: 'add', after: '1' }));
  expect(changesOf({ changes: many })).toHaveLength(11);
  expect(changesOf({ changes: many }).at(-1)).toBe('... and 5 more (--full)');
  expect(changesOf({ changes: many, omittedChanges: 3 }, true).at(-1)).toBe('... and 3 more');
});

it('has the time and the uid when it is wide', () => {
  expect(historyRows(revision({}), { ...options, wide: true })[0]?.slice(0, 4)).toEqual([
    '12',
    '5m',
    '1970-01-01T00:05:00Z',
    'u',
  ]);
  expect(historyHeadings(true)).toHaveLength(8);
});
