import { expect, test } from 'vitest';
import { decodeContinue, encodeContinue } from './continue-token.ts';

test('a continue token comes back as it was, for the same list', () => {
  const token = encodeContinue({ revision: 42, after: 'pods/default/a' }, 'pods');
  expect(decodeContinue(token, 'pods')).toEqual({ revision: 42, after: 'pods/default/a' });
});

test('a token of another list, and none at all, are refused', () => {
  const token = encodeContinue({ revision: 42, after: 'pods/default/a' }, 'pods');
  expect(() => decodeContinue(token, 'secrets')).toThrow(/must stay the same/);
  for (const wrong of ['x', token.slice(1), Buffer.from('[1,-1]').toString('base64url')])
    expect(() => decodeContinue(wrong, 'pods')).toThrow();
});
