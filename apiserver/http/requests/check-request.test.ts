import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { asApiError } from '../../../api/errors/index.ts';
import { checkRequest } from './check-request.ts';

function reasonOf(
  headers: readonly (readonly [string, string])[],
  { method = 'POST', isUpgrade = false } = {},
): string | undefined {
  const request = { method, rawHeaders: headers.flat(), headers: Object.fromEntries(headers) };
  try {
    checkRequest(request as unknown as IncomingMessage, isUpgrade);
    return undefined;
  } catch (error) {
    return asApiError(error)?.reason;
  }
}
const times = (count: number, bytes: number) => Array.from({ length: count }, (_, i) => [`x-${i}`, 'y'.repeat(bytes)] as const);
const host = ['host', 'berth:6443'] as const;

it.each([
  ['few headers', times(50, 10), undefined],
  ['as many headers as may be', times(256, 10), undefined],
  ['too many', times(257, 10), 'RequestHeaderFieldsTooLarge'],
  ['too large ones', times(200, 4_000), 'RequestHeaderFieldsTooLarge'],
  ['two tokens', [['authorization', 'Bearer a'] as const, ['Authorization', 'Bearer b'] as const], 'Unauthorized'],
  ['two hosts', [host, ['Host', 'other'] as const], 'BadRequest'],
  ['the origin of the server', [host, ['origin', 'https://berth:6443'] as const], undefined],
  ['another port of it', [host, ['origin', 'https://berth:8443'] as const], 'Forbidden'],
  ['another origin', [host, ['origin', 'https://evil.example'] as const], 'Forbidden'],
  ['another origin, and a token', [['authorization', 'Bearer a'] as const, ['origin', 'https://x'] as const], undefined],
  [
    'a page of the same origin behind a proxy',
    [['sec-fetch-site', 'same-origin'] as const, ['origin', 'http://x'] as const],
    undefined,
  ],
  ['a page of a sibling domain', [['sec-fetch-site', 'same-site'] as const], 'Forbidden'],
])('a write with %s is judged', (_, headers, reason) => {
  expect(reasonOf(headers)).toBe(reason);
});

it('rejects a WebSocket from a page of another origin, and leaves its reads to the browser', () => {
  const headers = [host, ['origin', 'https://evil.example'] as const, ['user-agent', 'Mozilla/5.0 (X11)'] as const];
  expect(reasonOf(headers, { method: 'GET' })).toBeUndefined();
  expect(reasonOf(headers, { method: 'GET', isUpgrade: true })).toBe('Forbidden');
});

it('accepts a WebSocket with an origin from a program, rejects its write, and knows a browser by its Sec-Fetch-Site', () => {
  const headers = [host, ['origin', 'http://localhost'] as const, ['user-agent', 'Go-http-client/1.1'] as const];
  expect(reasonOf(headers, { method: 'GET', isUpgrade: true })).toBeUndefined();
  expect(reasonOf(headers.slice(0, 2), { method: 'GET', isUpgrade: true })).toBeUndefined();
  expect(reasonOf(headers)).toBe('Forbidden');
  const told = [...headers, ['sec-fetch-site', 'cross-site'] as const];
  expect(reasonOf(told, { method: 'GET', isUpgrade: true })).toBe('Forbidden');
});
