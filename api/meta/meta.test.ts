import { describe, expect, it } from 'vitest';
import { findCondition, isConditionTrue, setCondition, setConditions } from './conditions.ts';
import { equalValues, firstDifference } from './equal.ts';
import { objectKey, splitKey } from './key.ts';
import { mergePatch } from './merge-patch.ts';
import {
  dataKeyError,
  envNameError,
  generatedName,
  labelNameError,
  labelValueError,
  portNameError,
  qualifiedNameError,
  subdomainNameError,
} from './names.ts';
import { controllerOf, controllerReference, isControlledBy, isOwnedBy } from './owner.ts';
import { compareTimestamps, fromRfc3339, timestamp, toDate, toRfc3339 } from './time.ts';

describe('times', () => {
  it('reads RFC 3339 with offsets and fractions', () => {
    expect(fromRfc3339('1970-01-01T00:00:01Z')).toEqual({ seconds: 1 });
    expect(fromRfc3339('1970-01-01T01:00:00.25+01:00')).toEqual({ seconds: 0, nanos: 250_000_000 });
    expect(fromRfc3339('1969-12-31t23:59:59.123456789z')).toEqual({ seconds: -1, nanos: 123_456_789 });
    expect(fromRfc3339('0001-01-01T00:00:00Z')).toEqual({ seconds: -62135596800 });
    expect(fromRfc3339('2016-12-31T23:59:60Z')).toEqual(fromRfc3339('2017-01-01T00:00:00Z'));
  });

  it.each([
    '',
    '2026-01-31',
    '2026-02-30T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:00:00',
    '2026-01-01 00:00:00Z',
    'now',
  ])('refuses "%s"', (text) => {
    expect(fromRfc3339(text)).toBeUndefined();
  });

  it('writes as many digits as asked, and more where they would be lost', () => {
    expect([toRfc3339({ seconds: 0 }), toRfc3339({}, 6), toRfc3339({ nanos: 1000 }), toRfc3339({ nanos: 1 }, 6)]).toEqual([
      '1970-01-01T00:00:00Z',
      '1970-01-01T00:00:00.000000Z',
      '1970-01-01T00:00:00.000001Z',
      '1970-01-01T00:00:00.000000001Z',
    ]);
  });

  it('writes what is out of range so that it can be read again', () => {
    for (const time of [{ seconds: 1e15, nanos: -1 }, { seconds: -1e15 }, { nanos: 2 ** 31 - 1 }])
      expect(fromRfc3339(toRfc3339(time))).toBeDefined();
  });

  it('goes to a Date and back, before 1970 too', () => {
    for (const ms of [0, 1, -1, 1_700_000_000_123]) expect(toDate(timestamp(new Date(ms))).getTime()).toBe(ms);
    expect(timestamp(new Date(-1))).toEqual({ seconds: -1, nanos: 999_000_000 });
    expect(compareTimestamps({ seconds: 1 }, { seconds: 1, nanos: 1 })).toBeLessThan(0);
    expect(compareTimestamps(undefined, {})).toBeLessThan(0);
  });
});

describe('conditions', () => {
  const before: { type: string; status: string; reason?: string; lastTransitionTime?: { seconds: number } }[] = [
    { type: 'Ready', status: 'True', lastTransitionTime: { seconds: 1 }, reason: 'a' },
    { type: 'Other', status: 'False' },
  ];
  const now = { seconds: 9 };

  it('merge by type and keep the others where they are', () => {
    const after = setCondition(before, { type: 'Ready', status: 'False', reason: 'b' }, now);
    expect(after).toEqual([{ type: 'Ready', status: 'False', reason: 'b', lastTransitionTime: now }, before[1]]);
    expect(before[0]?.status).toBe('True');
  });

  it('change lastTransitionTime only when the status changes, whatever the caller says', () => {
    const same = setCondition(before, { type: 'Ready', status: 'True', reason: 'b', lastTransitionTime: now }, now);
    expect(findCondition(same, 'Ready')).toEqual({
      type: 'Ready',
      status: 'True',
      reason: 'b',
      lastTransitionTime: { seconds: 1 },
    });
    expect(setConditions(undefined, [{ type: 'New', status: 'True' }], now)).toEqual([
      { type: 'New', status: 'True', lastTransitionTime: now },
    ]);
    expect([isConditionTrue(before, 'Ready'), isConditionTrue(before, 'Other'), isConditionTrue(undefined, 'x')]).toEqual([
      true,
      false,
      false,
    ]);
  });
});

describe('merge patch', () => {
  it.each([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [['a', 'b'], ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('makes of %j and %j the document %j, as RFC 7396 says', (target, patch, result) => {
    expect(mergePatch(target, patch)).toEqual(result);
  });

  it('does not let a patch reach the prototype', () => {
    mergePatch({}, JSON.parse('{"__proto__":{"polluted":true}}'));
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

describe('names', () => {
  const ok = (check: (text: string) => string | undefined, ...texts: string[]): boolean[] =>
    texts.map((text) => check(text) === undefined);

  it('follow the rules of DNS', () => {
    expect(ok(labelNameError, 'a', 'a-1', '1a', 'a'.repeat(63))).toEqual([true, true, true, true]);
    expect(ok(labelNameError, '', '-a', 'a-', 'A', 'a.b', 'a'.repeat(64))).toEqual(Array(6).fill(false));
    expect(ok(subdomainNameError, 'a.b-c.d', 'a..b', '.a', 'a_b', `${'a'.repeat(253)}`, 'a'.repeat(254))).toEqual([
      true,
      false,
      false,
      false,
      true,
      false,
    ]);
  });

  it('follow the rules of labels', () => {
    expect(ok(qualifiedNameError, 'app', 'a.b/App_1.x', '/a', 'a/', 'a/b/c', '-a', 'A.b/c')).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
      false,
    ]);
    expect(ok(labelValueError, '', 'A_b.c-1', '-a', 'a b', 'a'.repeat(64))).toEqual([true, true, false, false, false]);
  });

  it('follow the rules of keys, variables and ports', () => {
    expect(ok(dataKeyError, 'a.b_c-D', '.hidden', '', '.', '..', '..a', 'a/b')).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
      false,
    ]);
    expect(ok(envNameError, 'A_B', 'a.b', '1', 'a=b', '', 'a\nb')).toEqual([true, true, true, false, false, false]);
    expect(ok(portNameError, 'http', 'a-1', '80', 'a--b', 'Http', 'a'.repeat(16), '-a')).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
      false,
    ]);
  });

  it('are generated from a prefix that is cut to fit', () => {
    expect(generatedName('web-', () => 0)).toBe('web-bbbbb');
    expect(generatedName('x'.repeat(80), () => 0.999)).toBe(`${'x'.repeat(58)}99999`);
  });
});

describe('owners and keys', () => {
  const owner = { metadata: { name: 'o', uid: 'u1' } };

  it('are judged by uid', () => {
    const owned = { metadata: { ownerReferences: [controllerReference({ apiVersion: 'v1', kind: 'Node' }, owner)] } };
    expect(controllerOf(owned)).toEqual({
      apiVersion: 'v1',
      kind: 'Node',
      name: 'o',
      uid: 'u1',
      controller: true,
      blockOwnerDeletion: true,
    });
    expect([isOwnedBy(owned, owner), isControlledBy(owned, owner)]).toEqual([true, true]);
    expect([isOwnedBy(owned, { metadata: { name: 'o', uid: 'u2' } }), isOwnedBy(owned, {})]).toEqual([false, false]);
  });

  it('have keys with and without namespace', () => {
    expect([objectKey({ metadata: { namespace: 'a', name: 'b' } }), objectKey({ metadata: { name: 'b' } })]).toEqual([
      'a/b',
      'b',
    ]);
    expect([splitKey('a/b'), splitKey('b')]).toEqual([{ namespace: 'a', name: 'b' }, { name: 'b' }]);
  });
});

it('says where two values first differ', () => {
  expect(equalValues({ a: [1, { b: undefined }], c: Buffer.from('x') }, { a: [1, {}], c: Buffer.from('x') })).toBe(true);
  expect(firstDifference({ a: [1, { b: 2 }] }, { a: [1, { b: 3 }] })).toBe('.a[1].b');
  expect([
    firstDifference({ a: 1 }, {}),
    firstDifference({}, { a: 1 }),
    firstDifference([1], [1, 2]),
    firstDifference(1, '1'),
  ]).toEqual(['.a', '.a', '', '']);
});
