import { expect, test } from 'vitest';
import { benchApi } from './api/index.ts';
import { UsageError } from './usage-error.ts';

test('an unknown part is a usage error that names the known parts', async () => {
  const asked = benchApi(() => {}, ['foo']);
  await expect(asked).rejects.toBeInstanceOf(UsageError);
  await expect(asked).rejects.toThrow('api has no part "foo"; there are throughput, bulk');
});
