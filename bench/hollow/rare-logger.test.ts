import { expect, it } from 'vitest';
import { createRareLogger } from './rare-logger.ts';

it('a message is written once in 10 s, with how many were left out', () => {
  const lines: string[] = [];
  let now = 0;
  const logger = createRareLogger(
    (line) => lines.push(line),
    () => now,
  );
  for (let index = 0; index < 5; index++) logger.warn({ node: `n-${index}`, err: new Error('away') }, 'cannot renew');
  logger.error({}, 'another');
  now = 10_000;
  logger.warn({ node: 'n-9' }, 'cannot renew');
  logger.info({}, 'never');
  expect(lines).toEqual([
    'warn n-0: cannot renew: away',
    'error another',
    'warn n-9: cannot renew (and 4 times more since the last line)',
  ]);
});
