import fc from 'fast-check';
import { expect, it } from 'vitest';
import { unifiedDiff } from './unified-diff.ts';

const names = { before: 'a', after: 'b' };
const text = (...lines: string[]) => lines.map((line) => `${line}\n`).join('');

it('is empty for equal texts', () => {
  expect(unifiedDiff('a\n', 'a\n', names)).toBe('');
});

it('shows changes with three lines around them', () => {
  const before = text('1', '2', '3', '4', '5', '6', '7', '8', '9');
  expect(unifiedDiff(before, before.replace('5', 'five'), names)).toBe(
    text('--- a', '+++ b', '@@ -2,7 +2,7 @@', ' 2', ' 3', ' 4', '-5', '+five', ' 6', ' 7', ' 8'),
  );
});

it('puts changes that are near each other into one hunk, and others into their own', () => {
  const lines = Array.from({ length: 30 }, (_, i) => `${i + 1}`);
  const changed = (...at: number[]) => text(...lines.map((line, i) => (at.includes(i + 1) ? 'x' : line)));
  const hunks = (...at: number[]) => unifiedDiff(text(...lines), changed(...at), names).match(/^@@.*@@$/gm);
  expect(hunks(5, 12)).toEqual(['@@ -2,14 +2,14 @@']);
  expect(hunks(5, 13)).toEqual(['@@ -2,7 +2,7 @@', '@@ -10,7 +10,7 @@']);
});

it('shows an object that came or went as a whole', () => {
  expect(unifiedDiff('', text('a', 'b'), names)).toBe(text('--- a', '+++ b', '@@ -0,0 +1,2 @@', '+a', '+b'));
  expect(unifiedDiff(text('a'), '', names)).toBe(text('--- a', '+++ b', '@@ -1 +0,0 @@', '-a'));
});

it('takes texts that have nothing in common as one change, however long', () => {
  const long = (mark: string) => text(...Array.from({ length: 5_000 }, (_, i) => `${mark}${i}`));
  expect(unifiedDiff(long('a'), long('b'), names).split('\n')).toHaveLength(10_004);
});

/** What "patch" does: everything between the hunks stays, and what a hunk takes away must be there. */
function apply(before: string, diff: string): string {
  const lines = before.split('\n').slice(0, -1);
  const out: string[] = [];
  let at = 0;
  for (const line of diff.split('\n').slice(2, -1)) {
    const [, start, count = '1'] = /^@@ -(\d+)(?:,(\d+))? /.exec(line) ?? [];
    if (start !== undefined) {
      const first = Number(start) - (count === '0' ? 0 : 1);
      out.push(...lines.slice(at, first));
      at = first;
    } else {
      if (!line.startsWith('+')) expect(lines[at++]).toBe(line.slice(1));
      if (!line.startsWith('-')) out.push(line.slice(1));
    }
  }
  return text(...out, ...lines.slice(at));
}

it('turns the one text into the other', () => {
  const someLines = fc.array(fc.constantFrom('a', 'b', 'c', 'd: 1', '- x'), { maxLength: 40 }).map((lines) => text(...lines));
  fc.assert(
    fc.property(someLines, someLines, (before, after) => {
      const diff = unifiedDiff(before, after, names);
      expect(diff === '' ? before : apply(before, diff)).toBe(after);
    }),
    { numRuns: 500 },
  );
});
