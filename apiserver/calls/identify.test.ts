import type { TLSSocket } from 'node:tls';
import { expect, it } from 'vitest';
import { isIdentified } from './identify.ts';

it('a connection that was destroyed, which tells no certificate any more, is not identified', () => {
  // Node's type leaves out what it gives then.
  const gone = { authorized: true, getPeerCertificate: () => null } as unknown as TLSSocket;
  expect(isIdentified({ key: {}, socket: gone })).toBe(false);
  const alive = { authorized: true, getPeerCertificate: () => ({ subject: { CN: 'admin' } }) } as unknown as TLSSocket;
  expect(isIdentified({ key: {}, socket: alive })).toBe(true);
});
