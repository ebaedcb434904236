import { describe, expect, it } from 'vitest';
import { plotArea, plotColumns, spread } from './plot.ts';

const options = { width: 12, height: 2, top: 8, labels: ['8', '0'] as const, labelWidth: 2, unicode: true };

describe('an area in braille', () => {
  it('has two columns of dots a character and four rows a line, and an axis with words', () => {
    expect(plotColumns(options)).toBe(16);
    const growing = Array.from({ length: 16 }, (_, i) => i / 2 + 0.5);
    expect(plotArea(growing, options)).toEqual([' 8 ┤    ⣀⣤⣶⣿', ' 0 ┤⣀⣤⣶⣿⣿⣿⣿⣿']);
  });

  it('shows the smallest value by a dot, and nothing for 0 and for what is not known', () => {
    const values = [0.001, 0, Number.NaN, 8];
    expect(plotArea(values, options)).toEqual([' 8 ┤ ⢸', ' 0 ┤⡀⢸']);
  });

  it('is drawn in ASCII where nothing else can be shown', () => {
    const ascii = { ...options, unicode: false };
    expect(plotArea([8, 4, 1, 0], ascii)).toEqual([' 8 +#', ' 0 +###']);
  });

  it('has a plain axis between its ends', () => {
    expect(plotArea([1], { ...options, height: 3, top: 1 })).toEqual([' 8 ┤⡇', '   │⡇', ' 0 ┤⡇']);
  });
});

describe('samples in columns of equal time', () => {
  it.each([
    ['several in one column: their mean', [0, 1, 2, 3], [1, 3, 5, 7], 2, [2, 6]],
    ['what is not known counts for nothing', [0, 1, 2, 3], [1, Number.NaN, Number.NaN, Number.NaN], 2, [1, Number.NaN]],
    ['columns between two samples: the value before', [0, 2], [4, 8], 4, [4, 4, 4, 8]],
    ['a gap stays empty', [0, 1, 2, 3], [4, Number.NaN, Number.NaN, 8], 8, [4, NaN, NaN, NaN, NaN, NaN, NaN, 8]],
    ['one sample: at the end', [5], [3], 3, [Number.NaN, Number.NaN, 3]],
    ['none', [], [], 2, [Number.NaN, Number.NaN]],
  ])('%s', (_, times, values, columns, expected) => {
    expect(spread(times, values, columns)).toEqual(expected);
  });
});
