import { describe, expect, it } from 'vitest';
import { isConflict } from '../../api/errors/index.ts';
import type { Lease } from '../../api/generated/types.ts';
import { formatLeaseTerm, parseLeaseTerm } from '../../api/meta/lease-term.ts';
import { LeaseTerms } from './lease-terms.ts';

const at = { namespace: 'kube-system', name: 'work' };
const term = { ...at, holder: 'a', transitions: 3 };
const heldBy = (holderIdentity: string, leaseTransitions: number): Lease => ({ spec: { holderIdentity, leaseTransitions } });

function refuses(lease: Lease | undefined, prepare: (terms: LeaseTerms) => void = () => {}): boolean {
  const terms = new LeaseTerms(() => lease);
  prepare(terms);
  try {
    terms.check(term);
    return false;
  } catch (error) {
    expect(isConflict(error)).toBe(true);
    return true;
  }
}

describe('a write with a leader’s term', () => {
  it.each<[string, Lease | undefined, boolean]>([
    ['is let in while its holder holds the Lease as of its transition', heldBy('a', 3), false],
    ['is refused when another holds the Lease', heldBy('b', 4), true],
    ['is refused when its holder lost the Lease and has it again', heldBy('a', 5), true],
    ['is refused when the Lease was released', { spec: { leaseTransitions: 3 } }, true],
    ['is refused when there is no Lease', undefined, true],
  ])('%s', (_, lease, refused) => expect(refuses(lease)).toBe(refused));

  it('is refused from when a change of the holder was submitted until all such changes have ended', () => {
    const terms = new LeaseTerms(() => heldBy('a', 3));
    const first = terms.changing(at);
    const second = terms.changing(at);
    expect(() => terms.check(term)).toThrow(/stop leading/);
    first();
    first();
    expect(() => terms.check(term)).toThrow(/stop leading/);
    second();
    expect(() => terms.check(term)).not.toThrow();
  });

  it('is let in while another Lease changes hands', () =>
    expect(refuses(heldBy('a', 3), (terms) => terms.changing({ ...at, name: 'other' }))).toBe(false));
});

describe('a term as text', () => {
  it('comes back as it was, whatever its parts hold', () => {
    const odd = { namespace: 'a', name: 'b.c', holder: 'host/1 ü,%', transitions: 12 };
    expect(parseLeaseTerm(formatLeaseTerm(odd))).toEqual(odd);
  });

  it.each(['', 'a/b/1', 'a/b/x/c', 'a/b/-1/c', 'a/b/1/c/d', '/b/1/c', 'a/b/1/%zz'])('is none: %j', (text) =>
    expect(parseLeaseTerm(text)).toBeUndefined(),
  );
});
