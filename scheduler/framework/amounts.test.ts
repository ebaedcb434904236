import { describe, expect, it } from 'vitest';
import { wordAmounts } from './amounts.ts';

const [Ki, Mi, Gi] = [1024, 1024 ** 2, 1024 ** 3];

describe('what is needed, beside what there is', () => {
  it.each([
    ['cpu', 2_000, 1_400, '2', '1.4'],
    ['cpu', 1_001, 1_000, '1.001', '1'],
    ['memory', Gi, 3_947_652 * Ki - 3 * Gi, '1Gi', '0.76Gi'],
    ['memory', 2049 * Mi, 2 * Gi, '2049Mi', '2048Mi'],
    ['memory', 2 * Gi, 2 * Gi - 1, '2Gi', '1.99Gi'],
    ['memory', 1e9, 1e9 - 1, '953.68Mi', '953.67Mi'],
    ['memory', 1_500, 0, '1500', '0'],
    ['memory', 1024 * Gi, 23.5 * Gi, '1Ti', '23.5Gi'],
    ['memory', 1024 * Gi, 103 * Gi, '1Ti', '0.1Ti'],
    ['memory', 2 * Gi, 900 * Ki, '2Gi', '0.87Mi'],
    ['ephemeral-storage', Gi, 7, '1Gi', '7'],
    ['ephemeral-storage', 11 * Gi, 10 * Gi, '11Gi', '10Gi'],
    ['example.com/gpu', 2, 1, '2', '1'],
  ])('of %s, %d and %d, is readable, and never looks the same', (resource, needed, there, ...words) => {
    expect(wordAmounts(resource, needed, there)).toEqual(words);
  });
});
