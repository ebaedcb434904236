import { describe, expect, it } from 'vitest';
import { computeApplyPatch, readLastApplied, withLastApplied } from './apply-patch.ts';

describe('the apply patch', () => {
  it('is nothing when the live object says all that the manifest says, and more', () => {
    const wanted = { spec: { containers: [{ name: 'a', image: 'x' }] } };
    const live = {
      spec: { containers: [{ name: 'a', image: 'x', imagePullPolicy: 'Always' }], nodeName: 'n1' },
      status: { phase: 'Running' },
    };
    expect(computeApplyPatch(wanted, wanted, live)).toBeUndefined();
  });

  it('sets what differs and leaves alone what others wrote', () => {
    const wanted = { data: { a: '2' } };
    expect(computeApplyPatch({ data: { a: '1' } }, wanted, { data: { a: '1', other: 'x' } })).toEqual({ data: { a: '2' } });
  });

  it('removes what was applied before and is gone from the manifest', () => {
    expect(computeApplyPatch({ data: { a: '1', b: '2' } }, { data: { a: '1' } }, { data: { a: '1', b: '2', c: '3' } })).toEqual({
      data: { b: null },
    });
    expect(computeApplyPatch({ data: { a: '1' } }, {}, { data: { a: '1' } })).toEqual({ data: null });
  });

  it('does not remove what is already gone', () => {
    expect(computeApplyPatch({ data: { a: '1' } }, { data: {} }, { data: {} })).toBeUndefined();
  });

  it('replaces a list as a whole when an item differs or is gone', () => {
    expect(computeApplyPatch(undefined, { list: ['a'] }, { list: ['a', 'b'] })).toEqual({ list: ['a'] });
  });

  it('remembers the manifest without remembering the memory', () => {
    const once = withLastApplied({ metadata: { name: 'x', annotations: { mine: '1' } }, data: { a: '1' } });
    const twice = withLastApplied(once);
    expect(twice).toEqual(once);
    expect(readLastApplied(twice)).toEqual({ metadata: { name: 'x', annotations: { mine: '1' } }, data: { a: '1' } });
  });

  it('treats a damaged memory as none', () => {
    expect(
      readLastApplied({ metadata: { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{' } } }),
    ).toBeUndefined();
  });
});
