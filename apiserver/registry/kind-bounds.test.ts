import { expect, test } from 'vitest';
import { kindNamed } from '../../api/kinds/index.ts';
import { KindCache } from '../watch/kind-cache.ts';
import { checkObjectCount, checkObjectSize } from './kind-bounds.ts';

const subject = { kind: 'CertificateSigningRequest', name: 'r' };

test('a certificate request of 384 KiB is taken, and a larger one refused', () => {
  checkObjectSize(kindNamed('CertificateSigningRequest'), Buffer.alloc(393_216), subject);
  expect(() => checkObjectSize(kindNamed('CertificateSigningRequest'), Buffer.alloc(393_217), subject)).toThrow(
    'too long: must have at most 393216 bytes',
  );
});

test('a kind without a bound takes an object of any size that the store takes', () => {
  checkObjectSize(kindNamed('ConfigMap'), Buffer.alloc(1_500_000), subject);
});

test('a kind has as many objects as it allows', () => {
  const kind = { ...kindNamed('CertificateSigningRequest'), maxObjects: 1 };
  const cache = new KindCache(kind);
  checkObjectCount(kind, cache);
  cache.reset([{ key: 'certificatesigningrequests.certificates.k8s.io/a', bytes: Buffer.from([10, 0]), revision: 2 }], 2);
  expect(() => checkObjectCount(kind, cache)).toThrow('there are 1 objects of kind CertificateSigningRequest');
  const small = { ...kind, maxObjects: 2, maxTotalBytes: 6 };
  checkObjectCount(small, cache);
  expect(() => checkObjectCount({ ...small, maxTotalBytes: 5 }, cache)).toThrow('have 5 bytes, more than allowed');
});
