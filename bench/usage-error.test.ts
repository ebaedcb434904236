import { expect, test } from 'vitest';
import { benchApi } from './api/index.ts';
import { UsageError } from './usage-error.ts';

test('a part that there is not is a mistake of whoever asks, told with the parts that there are', async () => {
  const asked = benchApi(() => {}, ['foo']);
  await expect(asked).rejects.toBeInstanceOf(UsageError);
  await expect(asked).rejects.toThrow('api has no part "foo"; there are throughput, bulk');
});
