import { expect, test } from 'vitest';
import { authenticate } from './authenticate.ts';
import { formatToken, parseTokens } from './tokens.ts';

const tokens = parseTokens(`# made by hand\n\n${formatToken('secret', { user: 'ada', groups: ['dev', 'ops'] })}`);

test('a token is found by its hash, with its user and groups', () => {
  expect(tokens.find('secret')).toEqual({ user: 'ada', groups: ['dev', 'ops'] });
  expect(tokens.find('Secret')).toBeUndefined();
});

test('a line that cannot be read is named', () => {
  expect(() => parseTokens('abc,ada')).toThrow(/line 1/);
});

test('a token wins over a certificate, and a wrong one is not saved by it', () => {
  const certificate = { commonName: 'admin', organizations: ['system:masters'] };
  expect(authenticate({ certificate, authorization: 'Bearer secret' }, tokens).user).toBe('ada');
  expect(authenticate({ certificate, authorization: undefined }, tokens).user).toBe('admin');
  expect(() => authenticate({ certificate, authorization: 'Bearer wrong' }, tokens)).toThrow(/not known/);
  expect(() => authenticate({ certificate, authorization: 'Basic secret' }, tokens)).toThrow();
  expect(() => authenticate({ certificate: undefined, authorization: undefined }, tokens)).toThrow(/client certificate/);
});
