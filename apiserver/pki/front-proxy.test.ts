import { X509Certificate } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { splitCertificates } from '../../api/meta/authority.ts';
import { FrontProxy } from './front-proxy.ts';

const day = 24 * 3_600_000;
let dir: string;
let now: number;
const open = (): Promise<FrontProxy> => FrontProxy.open({ dir, now: () => new Date(now) });

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'berth-front-proxy-'));
  now = Date.parse('2026-01-01T00:00:00Z');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const isSignedBy = (certificate: string, authority: string): boolean =>
  new X509Certificate(certificate).verify(new X509Certificate(authority).publicKey);

it('makes an authority and a client certificate once, and finds them again', async () => {
  const first = await open();
  expect(new X509Certificate(first.pair.certificate).subject).toBe('CN=front-proxy-client');
  expect(isSignedBy(first.pair.certificate, first.authority)).toBe(true);
  const again = await open();
  expect([again.authority, again.pair]).toEqual([first.authority, first.pair]);
  expect(await again.renewDue()).toEqual([]);
});

it('renews the certificate before it ends, and tells of it', async () => {
  const proxy = await open();
  const { authority, pair } = proxy;
  let told = 0;
  proxy.observe(() => told++);
  now += 200 * day;
  expect(await proxy.renewDue()).toEqual([]);
  now += 100 * day;
  expect(await proxy.renewDue()).toEqual(['front-proxy-client']);
  expect([told, proxy.authority, proxy.pair.certificate === pair.certificate]).toEqual([1, authority, false]);
});

it('renews the authority before it ends, and has the one before believed as well', async () => {
  const proxy = await open();
  const { authority, pair } = proxy;
  now += 8 * 365 * day;
  expect(await proxy.renewDue()).toEqual(['front-proxy-ca', 'front-proxy-client']);
  const [first = '', second] = splitCertificates(proxy.authority);
  expect(second?.trim()).toBe(authority.trim());
  expect(isSignedBy(proxy.pair.certificate, first)).toBe(true);
  expect(isSignedBy(pair.certificate, first)).toBe(false);
  expect((await open()).pair).toEqual(proxy.pair);
});

it('makes both anew when the key of the authority is not its own', async () => {
  const { authority } = await open();
  await writeFile(join(dir, 'front-proxy-ca.key'), 'nonsense');
  const next = await open();
  const [first = ''] = splitCertificates(next.authority);
  expect(first).not.toBe(authority);
  expect(isSignedBy(next.pair.certificate, first)).toBe(true);
});
