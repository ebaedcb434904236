import { expect, it } from 'vitest';
import { warningHeaders } from './warnings.ts';

it('keeps line breaks, quotes and other alphabets out of the header', () => {
  expect(warningHeaders(['a\r\nset-cookie: x "q" \\ \u00e4'])).toEqual(['299 - "a??set-cookie: x \\"q\\" \\\\ ?"']);
});

it('shortens a long warning, and leaves out those that do not fit into 4 KiB, saying how many', () => {
  const headers = warningHeaders(Array.from({ length: 100 }, (_, index) => `${index} ${'x'.repeat(60_000)}`));
  expect(headers.join().length).toBeLessThan(4_400);
  expect(headers.at(-1)).toBe('299 - "97 more warnings are left out"');
  expect(warningHeaders(['one', 'two'])).toEqual(['299 - "one"', '299 - "two"']);
});
