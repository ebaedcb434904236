import { X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { ApiError, permissionDenied } from '../../api/errors/index.ts';
import { authorityHash } from '../../api/meta/authority.ts';
import { createTestPki, type TestPki } from '../../test/fakes/test-pki.ts';
import { describeJoinFailure, versionProblem } from './describe-failure.ts';
import { describeSkew, judgeAuthority, judgeCertificate, parseAuthorityHash } from './judge-server.ts';
import { whyUnreachable } from './reach.ts';

const endpoint = { host: '10.0.0.5', port: 7443 };
let pki: TestPki;
let other: TestPki;
let authority: X509Certificate;
let stranger: X509Certificate;
let leaf: X509Certificate;
let strangersLeaf: X509Certificate;

beforeAll(async () => {
  [pki, other] = await Promise.all([createTestPki(), createTestPki()]);
  [authority, stranger] = [new X509Certificate(pki.ca), new X509Certificate(other.ca)];
  const issue = async (by: TestPki) => new X509Certificate((await by.issue('CN=berth', { addresses: ['10.0.0.5'] })).cert);
  [leaf, strangersLeaf] = [await issue(pki), await issue(other)];
});

describe('the server that a machine joins', () => {
  it('is trusted when its authority has the hash, and signed its certificate', () => {
    const shown = { chain: [leaf, authority], speaksHttp2: true };
    const hashes = [`sha256:${'0'.repeat(64)}`, authorityHash(authority)];
    expect(judgeAuthority(endpoint, shown, hashes)).toBe(authority);
  });

  it('is refused with both hashes when it is of another cluster', () => {
    const shown = { chain: [strangersLeaf, stranger], speaksHttp2: true };
    const judge = () => judgeAuthority(endpoint, shown, [authorityHash(authority)]);
    expect(judge).toThrow(new RegExp(`10.0.0.5:7443.*${authorityHash(stranger)}.*${authorityHash(authority)}.*Nothing was sent`));
  });

  it('is refused when it shows the authority of the hash, but a certificate of another', () => {
    const shown = { chain: [strangersLeaf, authority], speaksHttp2: true };
    expect(() => judgeAuthority(endpoint, shown, [authorityHash(authority)])).toThrow(/not signed by the authority/);
  });

  it.each<[string, () => { chain: X509Certificate[]; speaksHttp2: boolean }]>([
    ['nothing', () => ({ chain: [], speaksHttp2: true })],
    ['a certificate and no authority', () => ({ chain: [leaf], speaksHttp2: true })],
    ['a web site', () => ({ chain: [leaf, authority], speaksHttp2: false })],
  ])('is none when it shows %s', (_, shown) => {
    expect(() => judgeAuthority(endpoint, shown(), [authorityHash(authority)])).toThrow(/no Berth server/);
  });

  it('has a certificate for the address, which is good now', () => {
    const now = Date.now();
    expect(judgeCertificate(leaf, endpoint, now)).toBeUndefined();
    expect(judgeCertificate(leaf, { host: '10.0.0.6', port: 1 }, now)).toMatch(
      /good for 10\.0\.0\.5, and not for 10\.0\.0\.6.*--advertise/,
    );
    expect(judgeCertificate(leaf, endpoint, now + 10 * 365 * 86_400_000)).toMatch(/ended on/);
    expect(judgeCertificate(leaf, endpoint, now - 10 * 365 * 86_400_000)).toMatch(/not good before/);
  });

  it.each<[string, number, string, boolean]>([
    ['6 minutes ahead', 6 * 60_000, '6 minutes ahead of', true],
    ['two days behind', -2 * 86_400_000, '2 days behind', true],
    ['90 seconds ahead', 90_000, '90 seconds ahead of', false],
  ])('has a clock of which ours is %s', (_, off, words, isTooMuch) => {
    expect(describeSkew(1_700_000_000_000, 1_700_000_000_000 + off)).toEqual({ text: expect.stringContaining(words), isTooMuch });
  });

  it('has a clock that agrees with ours, or says nothing of it', () => {
    expect([describeSkew(1_000, 31_000), describeSkew(undefined, 5)]).toEqual([undefined, undefined]);
  });

  it.each([
    ['ECONNREFUSED', /nothing listens at 10\.0\.0\.5, port 7443.*berth up --advertise/],
    ['ETIMEDOUT', /firewall.*port 7443 must be open/],
    ['EHOSTUNREACH', /no way to 10\.0\.0\.5/],
    ['ENOTFOUND', /cannot be resolved/],
    ['EMFILE', /cannot be reached: why/],
  ])('is not reached (%s), and what to look at is said', (code, message) => {
    expect(whyUnreachable(endpoint, Object.assign(new Error('why'), { code }))).toMatch(message);
  });
});

describe('what the line says', () => {
  it.each(['', 'abc', 'sha256:abc', `sha512:${'a'.repeat(64)}`, 'a'.repeat(64)])('is no hash: "%s"', (text) =>
    expect(parseAuthorityHash(text)).toBeUndefined(),
  );
  it('is a hash in capitals too', () => {
    expect(parseAuthorityHash(`SHA256:${'A'.repeat(64)}`)).toBe(`sha256:${'a'.repeat(64)}`);
  });
});

describe('a machine that gets no certificate', () => {
  const token = 'abcdef.0123456789abcdef';
  it.each<[string, Error, RegExp]>([
    ['expired token', new ApiError('UNAUTHENTICATED', 'TokenExpired', 'the join token abcdef expired at T'), /expired at T/],
    ['unknown token', new ApiError('UNAUTHENTICATED', 'Unauthorized', 'x'), /does not know the token abcdef.*berth token create/],
    ['token that may not', permissionDenied('no'), /token abcdef may not be used for joining: no/],
    ['old server', new ApiError('UNIMPLEMENTED', 'MethodNotAllowed', 'x'), /too old/],
    ['denied request', new Error('the cluster has a node n2'), /the cluster has a node n2/],
  ])('says why: %s', (_, error, message) => {
    expect((describeJoinFailure(error, token) as Error).message).toMatch(message);
    expect((describeJoinFailure(error, token) as Error).message).not.toContain('0123456789abcdef');
  });

  it.each<[string, string | undefined, boolean]>([
    ['0.3.1', '0.3.9', true],
    ['0.3.0', '0.4.0', true],
    ['0.4.0', '0.3.2', true],
    ['0.5.0', '0.3.0', false],
    ['1.0.0', '0.9.0', false],
    ['0.3.0', undefined, true],
  ])('may be of version %s with a server of %s: %s', (here, server, isFine) => {
    expect(versionProblem(here, server) === undefined).toBe(isFine);
  });
});
