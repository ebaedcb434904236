import { describe, expect, it } from 'vitest';
import { readReview } from './review.ts';

const review = (response: unknown, rest: object = {}): string =>
  JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response, ...rest });
const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64');
const deep = Buffer.from(`${'['.repeat(200)}${']'.repeat(200)}`).toString('base64');
const endless = Buffer.from('['.repeat(100_000)).toString('base64');
const allowed = { uid: 'u', allowed: true };
const patched = (operations: unknown) => ({ ...allowed, patchType: 'JSONPatch', patch: base64(operations) });

describe('the answer of a webhook', () => {
  it('allows, and may change the object', () => {
    const patch = [{ op: 'add', path: '/a', value: 1 }];
    expect(readReview(review(patched(patch)), 'u', true)).toMatchObject({ isAllowed: true, patch });
  });

  it('refuses with 400 where it names no status, and its patch counts for nothing', () => {
    const refusal = { ...patched([]), allowed: false, status: { message: 'no' } };
    expect(readReview(review(refusal), 'u', true)).toMatchObject({
      isAllowed: false,
      message: 'no',
      httpCode: 400,
      patch: undefined,
    });
    const status = { code: 200, reason: 'Odd' };
    expect(readReview(review({ ...refusal, status }), 'u', true)).toMatchObject({ httpCode: 400, message: 'Odd' });
  });

  it('has ten warnings of 256 characters at most, and annotations with good keys', () => {
    const warnings = Array.from({ length: 12 }, () => 'w'.repeat(300));
    const auditAnnotations = { good: 'x'.repeat(2_000), 'not good': 'y', number: 5 };
    const verdict = readReview(review({ ...allowed, warnings, auditAnnotations }), 'u', false);
    expect(verdict.warnings).toHaveLength(11);
    expect(verdict.warnings[0]).toHaveLength(259);
    expect(verdict.warnings[10]).toBe('2 more warnings are left out');
    expect(Object.keys(verdict.auditAnnotations)).toEqual(['good']);
    expect(verdict.auditAnnotations.good).toHaveLength(1_027);
  });

  it('has a message of 4,096 characters at most, and twenty annotations', () => {
    const auditAnnotations = Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`k${i}`, 'v']));
    const status = { message: 'm'.repeat(5_000) };
    const verdict = readReview(review({ uid: 'u', allowed: false, status, auditAnnotations }), 'u', false);
    expect(verdict.message).toHaveLength(4_099);
    expect(Object.keys(verdict.auditAnnotations)).toHaveLength(20);
  });

  it.each<[string, string, string]>([
    ['no JSON', 'x', 'the answer is no JSON'],
    ['a list', '[]', 'the answer is no JSON object'],
    ['too many levels', `${'{"a":'.repeat(200)}1${'}'.repeat(200)}`, 'levels deep'],
    ['levels without an end', '['.repeat(100_000), 'the answer is nested more than 128 levels deep'],
    ['another version', review(allowed, { apiVersion: 'admission.k8s.io/v1beta1' }), 'got "AdmissionReview" in'],
    ['no response', review(undefined), 'has no response'],
    ['another uid', review({ ...allowed, uid: 'v' }), 'expected response.uid="u", got "v"'],
    ['no decision', review({ uid: 'u' }), 'response.allowed is not true or false'],
    ['a patch of another type', review({ ...patched([]), patchType: 'Merge' }), 'response.patchType "Merge"'],
    ['a type without a patch', review({ ...allowed, patchType: 'JSONPatch' }), 'without response.patch'],
    ['a patch that is no base64', review({ ...patched([]), patch: '{}' }), 'is no base64'],
    ['a patch that is no list', review(patched({})), 'response.patch cannot be read'],
    ['a patch of too many levels', review({ ...patched([]), patch: deep }), 'levels deep'],
    ['a patch of levels without an end', review({ ...patched([]), patch: endless }), 'levels deep'],
    ['an operation that is none', review(patched([{ op: 'what', path: '' }])), 'operation 0'],
  ])('with %s is a failure', (_what, text, why) => {
    expect(() => readReview(text, 'u', true)).toThrow(why);
  });

  it('with a long text that is no base64 is refused in linear time', () => {
    const text = review({ ...patched([]), patch: `${' '.repeat(200_000)}!` });
    const began = performance.now();
    expect(() => readReview(text, 'u', true)).toThrow('is no base64');
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  it.each(['W10=', 'W10 =\n', ' W 1 0 = ', 'W10'])('may have white space in its base64: %j', (patch) => {
    expect(readReview(review({ ...patched([]), patch }), 'u', true).patch).toEqual([]);
  });
});
