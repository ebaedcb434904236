import fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, test } from 'vitest';
import { Budget, BudgetExceeded } from './budget.ts';
import { compilePattern, programSize } from './patterns.ts';

describe('patterns', () => {
  test.each([
    ['^(a+)+$', 'a'.repeat(2000), '!'],
    ['(x+x+)+y', 'x'.repeat(2000), ''],
    ['^(a|a)*$', 'a'.repeat(2000), 'b'],
    ['^(([a-z])+.)+[A-Z]([a-z])+$', 'a'.repeat(2000), ''],
  ])('%s takes time in proportion to the text', (source, text, end) => {
    const budget = new Budget(10_000, 'test');
    expect(compilePattern(source).test(text + end, budget)).toBe(false);
    expect(budget.left).toBeGreaterThan(0);
  });

  test('a text that is too long for its pattern exceeds the budget before it is read', () => {
    const pattern = compilePattern('^(a{1,50}b?){1,20}$');
    expect(() => pattern.test('a'.repeat(1_000_000), new Budget(1_000_000, 'test'))).toThrow(BudgetExceeded);
  });

  test.each(['(', '[a', 'a**', '(?=a)b', '(a)\\1', 'a{1001}'])('%s is no regular expression of RE2', (source) => {
    expect(() => compilePattern(source)).toThrow(RangeError);
  });

  test.each(['(a{1000}b{1000}){1}(c{1000}d{1000}e{1000}f{1000})', `(${'abcdefghij'.repeat(10)}){100}`])(
    '%.20s is refused for the size that it has once it is written out',
    (source) => {
      expect(() => compilePattern(source)).toThrow('too large');
    },
  );

  test.each([`\\Q[\\E${'a{1000}'.repeat(500)}]`, 'a{100}(?i){100}', 'a{100}\\Q\\E{100}', 'a?{0,90}{0,90}'])(
    '%.20s hides no size',
    (source) => {
      expect(() => compilePattern(source)).toThrow('too large');
    },
  );

  test('the size of a program is estimated from above', () => {
    const part = fc.constantFrom(
      ...[
        'a',
        'é',
        '.',
        '^',
        '$',
        '|',
        '*',
        '+',
        '?',
        '{3}',
        '{2,5}',
        '{0,4}',
        '{7,}',
        '{0,}',
        '(',
        '(?:',
        '(?i)',
        '(?)',
        ')',
        '[a-z]',
        '[[:alpha:]]',
      ],
      ...['[', ']', '[^', '-', '{', '}', '\\Q', '\\E', '\\d', '\\b', '\\pN', '\\p{Greek}', '\\x{41}', '\\101', '\\[', '\\]'],
    );
    const sizeOf = (source: string): number => {
      try {
        return RE2JS.compile(source).programSize();
      } catch {
        return 0;
      }
    };
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 14 }), (parts) => {
        const source = parts.join('');
        expect(programSize(source)).toBeGreaterThanOrEqual(sizeOf(source));
      }),
      {
        numRuns: 3_000,
        examples: [
          ...[[['$', '*', '(?i)', '{2,5}', 'a']], [['^', '{0,}', '(?i)', '{0,4}']], [['{', '(?)', '{7,}']]],
          // Each of these has two instructions, and each of those three.
          ...[
            ['(', ')'],
            ['$', '*'],
          ].map((pair): [string[]] => [Array(7).fill(pair).flat()]),
        ],
      },
    );
    expect(programSize('abc')).toBeLessThan(10);
    expect(programSize('(ab){10}')).toBeGreaterThanOrEqual(20);
    expect(programSize('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')).toBeLessThan(30);
  });
});
