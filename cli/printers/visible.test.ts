import { expect, it } from 'vitest';
import { visible } from './visible.ts';

it('makes control characters visible and leaves everything else alone', () => {
  expect(visible('\u001b[31mred\u001b[0m\u0007\u007f\u009b')).toBe('^[[31mred^[[0m^G^?<U+009B>');
  expect(visible('a\u202eb\u200f\n')).toBe('a<U+202E>b<U+200F>^J');
  expect(visible('plain\ttext, ümläut, 日本')).toBe('plain\ttext, ümläut, 日本');
});
