import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { inspectCertificate } from './certificate-facts.ts';
import { createAuthority, issueCertificate } from './certificates.ts';

const now = new Date();
const server = { commonName: 'server.example', organizations: [] };

describe('what a certificate says', () => {
  it('is for whom it is good: the very names and addresses it was made for, however an address is written', async () => {
    const authority = await createAuthority('ca', now);
    const hosts = ['berth.example', '*.wild.example', '192.0.2.1', '2001:db8::1'];
    const { names } = inspectCertificate(authority.certificate, await issueCertificate(authority, server, hosts, now));
    const good = [...hosts, 'BERTH.example', '2001:db8:0:0:0:0:0:1'];
    expect(good.filter((host) => !names(host))).toEqual([]);
    const others = ['server.example', 'a.berth.example', 'a.wild.example', 'example', '192.0.2.2', '2001:db8::2', '::1'];
    expect(others.filter((host) => names(host))).toEqual([]);
  });

  it('is whose it is: signed by this authority and no other of its name, with this key and no other', async () => {
    const [authority, other] = [await createAuthority('ca', now), await createAuthority('ca', now)];
    const pair = await issueCertificate(authority, server, undefined, now);
    const { key } = await issueCertificate(authority, server, undefined, now);
    const facts = (by: string, key: string) => inspectCertificate(by, { ...pair, key });
    expect(facts(authority.certificate, pair.key)).toMatchObject({ signed: true, fits: true });
    expect(facts(other.certificate, pair.key)).toMatchObject({ signed: false, fits: true });
    expect(facts(authority.certificate, key)).toMatchObject({ signed: true, fits: false });
  });

  it('is nothing of what is none', async () => {
    const { certificate, key } = await createAuthority('ca', now);
    expect(() => inspectCertificate(certificate, { certificate: 'none', key })).toThrow();
  });
});

describe('the library that makes certificates', () => {
  const library = '@peculiar/x509';
  // Other files have these modules, too.
  afterEach(() => {
    vi.doUnmock(library);
    vi.resetModules();
  });

  it('is not loaded for those that are there and good', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'berth-certificates-'));
    try {
      const options = { dir, hosts: ['berth.example'], now: () => now };
      const { HeldCertificates: maker } = await import('./held-certificates.ts');
      const made = await maker.open(options);
      vi.resetModules();
      vi.doMock(library, () => {
        throw new Error('the library is loaded');
      });
      const { HeldCertificates: reader } = await import('./held-certificates.ts');
      const held = await reader.open(options);
      expect(held.serving()).toEqual(made.serving());
      await expect(held.renew(['admin'])).rejects.toThrow();
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  });
});
