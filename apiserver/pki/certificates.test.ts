import { X509Certificate } from 'node:crypto';
import { expect, it } from 'vitest';
import { createAuthority, issueCertificate } from './certificates.ts';

it('is good on a machine whose clock is 10 minutes behind the one that made it, and for who is 10 minutes behind it', async () => {
  const now = new Date('2026-01-01T12:00:00Z');
  const authority = await createAuthority('ca', now);
  const { certificate } = await issueCertificate(authority, { commonName: 'x', organizations: [] }, undefined, now);
  const furthest = now.getTime() - 10 * 60_000;
  for (const each of [authority.certificate, certificate])
    expect(Date.parse(new X509Certificate(each).validFrom)).toBeLessThan(furthest);
});
