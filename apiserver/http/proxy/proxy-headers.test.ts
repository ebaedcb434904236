import { expect, it } from 'vitest';
import { answerHeaders, requestHeaders } from './proxy-headers.ts';
import { parseProxyName } from './proxy-name.ts';
import { isProxyable } from './proxy-target.ts';

const request = { uri: '/proxy/x', address: '10.0.0.1', hasBody: false };

it('drops credentials and what holds for one connection from a request', () => {
  const secrets = { authorization: 'Bearer x', 'impersonate-user': 'a', 'x-remote-group': 'b', 'x-remote-extra-c': 'd' };
  const hops = { connection: 'close, X-Mine', 'x-mine': '1', te: 'trailers', upgrade: 'h2c', 'transfer-encoding': 'chunked' };
  const headers = { ':path': '/', ':authority': 'door:6443', accept: '*/*', ...secrets, ...hops };
  expect(requestHeaders({ ...request, headers })).toEqual({
    ...{ accept: '*/*', host: 'door:6443', 'x-forwarded-for': '10.0.0.1', 'x-forwarded-uri': '/proxy/x' },
  });
});

it('frames a body of unknown length, and keeps a length that is known', () => {
  expect(requestHeaders({ ...request, headers: {}, hasBody: true })).toMatchObject({ 'transfer-encoding': 'chunked' });
  const known = requestHeaders({ ...request, headers: { 'content-length': '3' }, hasBody: true });
  expect(known).toMatchObject({ 'content-length': '3' });
  expect(known).not.toHaveProperty('transfer-encoding');
});

it("appends the client's address to X-Forwarded-For", () => {
  const { 'x-forwarded-for': from } = requestHeaders({ ...request, headers: { 'x-forwarded-for': '192.0.2.1' } });
  expect(from).toBe('192.0.2.1, 10.0.0.1');
});

it('drops what holds for one connection, and rights of other origins, from an answer', () => {
  const headers = { connection: 'keep-alive', 'keep-alive': '5', 'access-control-allow-origin': '*', 'x-a': 'b' };
  expect(answerHeaders(headers, 'r1')).toEqual({ 'x-a': 'b', 'audit-id': 'r1' });
});

it("has this server's id of the call in an answer, whatever the other side says", () => {
  expect(answerHeaders({ 'audit-id': 'forged', 'set-cookie': ['a=b'] }, 'r1')).toEqual({
    'audit-id': 'r1',
    'set-cookie': ['a=b'],
  });
});

it.each([
  ['web', { scheme: 'http', name: 'web', port: '' }],
  ['web:80', { scheme: 'http', name: 'web', port: '80' }],
  ['https:web:', { scheme: 'https', name: 'web', port: '' }],
  ['http:web:main', { scheme: 'http', name: 'web', port: 'main' }],
  [':web:main', { scheme: 'http', name: 'web', port: 'main' }],
])('reads the name %s', (text, expected) => {
  expect(parseProxyName('service', text)).toEqual(expected);
});

it.each(['', ':80', 'ftp:web:80', 'a:b:c:d', 'https::443'])('refuses the name "%s"', (text) => {
  expect(() => parseProxyName('service', text)).toThrow(`invalid service request "${text}"`);
});

it.each([
  '127.0.0.1',
  '0.0.0.0',
  '169.254.169.254',
  '224.0.0.1',
  '255.255.255.255',
  '::1',
  '::',
  'fe80::1',
  'ff02::1',
  '::ffff:127.0.0.1',
  'a.b',
])('reaches no service at %s', (address) => expect(isProxyable(address)).toBe(false));

it.each(['10.0.0.1', '192.0.2.1', 'fd00::1', '2001:db8::1'])('may reach a service at %s', (address) =>
  expect(isProxyable(address)).toBe(true),
);
