import { describe, expect, it } from 'vitest';
import { parseRestartPeriod } from './restart-period.ts';

describe('--max-container-restart-period', () => {
  it('is a span from a second to five minutes', () => {
    expect(['1s', '90s', '5m'].map(parseRestartPeriod)).toEqual([1_000, 90_000, 300_000]);
    expect(parseRestartPeriod(undefined)).toBeUndefined();
  });

  it.each(['0s', '500ms', '6m', 'soon'])('refuses %s', (text) => {
    expect(() => parseRestartPeriod(text)).toThrow(text);
  });
});
