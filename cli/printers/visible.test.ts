import { expect, it } from 'vitest';
import { visible } from './visible.ts';

it('makes control characters visible and leaves everything else alone', () => {
  expect(visible('\u001b[31mred\u001b[0m\u0007\u007f\u009b')).toBe('^[[31mred^[[0m^G^??');
  expect(visible('plain\ttext, ümläut, 日本')).toBe('plain\ttext, ümläut, 日本');
});
