import { expect, it } from 'vitest';
import { guardFirstWrite, requireAuthorized } from './fail-closed.ts';

it('fails for a handler that has not authorized', () => {
  expect(() => requireAuthorized({ authorized: false })).toThrow('asks for no permission');
  expect(() => requireAuthorized({ authorized: true })).not.toThrow();
});

it('keeps a stream from sending anything before its handler has authorized', () => {
  const sent: unknown[] = [];
  const call = { write: (...args: unknown[]) => sent.push(args) > 0 };
  const { write } = call;
  const context = { authorized: false };
  guardFirstWrite(call, context);
  expect(() => call.write('secret')).toThrow('asks for no permission');
  expect(sent).toEqual([]);
  context.authorized = true;
  expect(call.write('a', 1)).toBe(true);
  expect(sent).toEqual([['a', 1]]);
  expect(call.write).toBe(write);
});
