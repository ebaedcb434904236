import { expect, test } from 'vitest';
import { encodeMessage } from '../../api/codec/message.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { KindCache } from '../watch/kind-cache.ts';
import { checkJsonElements, checkObjectBounds, checkObjectCount, checkObjectSize, mostElements } from './kind-bounds.ts';

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

const configMap = kindNamed('ConfigMap');
const dataOf = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, '']));
const bytesOf = (count: number) => encodeMessage(configMap.message, { data: dataOf(count) });

test('an object has 10,000 elements, and no more', () => {
  checkObjectBounds(configMap, bytesOf(10_000), subject);
  expect(() => checkObjectBounds(configMap, bytesOf(10_001), subject)).toThrow(
    'too many: must have at most 10000 messages, map entries and list items together, and has 10001',
  );
  checkJsonElements(configMap, { data: dataOf(10_000) }, subject);
  expect(() => checkJsonElements(configMap, { data: dataOf(10_001) }, subject)).toThrow('and has 10001');
});

test('an object that has more of old may have as many, and fewer, and no more', () => {
  const old = bytesOf(10_500);
  checkObjectBounds(configMap, old, subject, old);
  checkObjectBounds(configMap, bytesOf(10_400), subject, old);
  expect(() => checkObjectBounds(configMap, bytesOf(10_501), subject, old)).toThrow('at most 10500');
  expect([mostElements(configMap, old), mostElements(configMap, bytesOf(5))]).toEqual([10_500, 10_000]);
});
