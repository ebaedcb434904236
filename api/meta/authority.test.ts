import { expect, it } from 'vitest';
import { hasCertificate } from './authority.ts';

const [begin, end] = ['-----BEGIN CERTIFICATE-----', '-----END CERTIFICATE-----'];

it.each([
  [`${begin}\nAAAA\n${end}\n`, true],
  [`# ours\n${begin}\nAAAA\n${end}\n${begin}\n`, true],
  [`${end}\n${begin}\nAAAA\n${end}\n`, true],
  [`${begin}${end}`, false],
  [`${end}\n${begin}\nAAAA\n`, false],
  [begin, false],
  ['', false],
])('finds the frame of a certificate in %j: %s', (text, expected) => {
  expect(hasCertificate(text)).toBe(expected);
});

it('takes linear time for many beginnings without an end', () => {
  const text = begin.repeat(100_000);
  const started = performance.now();
  expect(hasCertificate(text)).toBe(false);
  expect(performance.now() - started).toBeLessThan(5_000);
});
