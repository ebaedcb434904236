import { X509Certificate } from 'node:crypto';
import { expect, it } from 'vitest';
import { createTestPki } from '../../test/fakes/test-pki.ts';
import { certificateNotice } from './certificate-notice.ts';

it('says when a tenth of the life of the own certificate is left, and when it has ended', async () => {
  const { cert } = await (await createTestPki()).issue('CN=anna');
  const { validFrom, validTo } = new X509Certificate(cert);
  const [from, to] = [Date.parse(validFrom), Date.parse(validTo)];
  const at = (part: number) => certificateNotice('berth', cert, from + part * (to - from));
  expect([at(0), at(0.89), certificateNotice('berth', undefined, to)]).toEqual([undefined, undefined, undefined]);
  expect(at(0.91)).toMatch(/context "berth" ends in 1 days: "berth up".*"berth create user"/);
  expect(at(1)).toMatch(/ended on .*GMT/);
});
