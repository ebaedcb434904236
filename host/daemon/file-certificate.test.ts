import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createTestPki, type TestCertificate, type TestPki } from '../../test/fakes/test-pki.ts';
import { fileCertificate } from './file-certificate.ts';

let folder: string;
let pki: TestPki;
let at = 0;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-file-certificate-'));
  pki = await createTestPki();
  at = 1_000_000;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const path = (name: string): string => join(folder, name);
const files = () => ({ ca: path('ca.crt'), certificate: path('x.crt'), key: path('x.key') });
const write = ({ cert, key }: TestCertificate): void => {
  writeFileSync(path('ca.crt'), pki.ca);
  writeFileSync(path('x.crt'), cert);
  writeFileSync(path('x.key'), key);
};

it('answers what the files hold, the same object until they change, and looks every half minute', async () => {
  const [first, second] = [await pki.issue('CN=a'), await pki.issue('CN=b')];
  write(first);
  const certificate = fileCertificate(files(), () => at);
  const held = certificate();
  expect(held).toEqual({ ca: pki.ca, certificate: first.cert, key: first.key });
  at += 31_000;
  expect(certificate()).toBe(held);
  write(second);
  expect(certificate()).toBe(held);
  at += 30_000;
  expect(certificate().certificate).toBe(second.cert);
});

it('keeps what it had while the files do not fit together or are gone, and takes them when they do', async () => {
  const [first, second] = [await pki.issue('CN=a'), await pki.issue('CN=b')];
  write(first);
  const certificate = fileCertificate(files(), () => at);
  writeFileSync(path('x.key'), second.key);
  at += 30_000;
  expect(certificate().certificate).toBe(first.cert);
  rmSync(path('x.key'));
  at += 30_000;
  expect(certificate().key).toBe(first.key);
  write(second);
  at += 30_000;
  expect(certificate()).toMatchObject({ certificate: second.cert, key: second.key });
});

it('fails at first when there is nothing to read', () => {
  expect(() => fileCertificate(files(), () => at)).toThrow(/ENOENT/);
});
