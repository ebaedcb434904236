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

test('a token that is too long is refused before it is looked up', () => {
  let lookups = 0;
  const counting = {
    find: () => {
      lookups++;
      return undefined;
    },
  };
  const call = (length: number) => () =>
    authenticate({ certificate: undefined, authorization: `Bearer ${'t'.repeat(length)}` }, counting);
  expect(call(50_000)).toThrow('the bearer token is too long: the server reads 16384 characters at most');
  expect(lookups).toBe(0);
  expect(call(16_384 - 'Bearer '.length)).toThrow(/not known/);
  expect(lookups).toBe(1);
});
