import { describe, expect, it } from 'vitest';
import { type AnnouncerFacts, decideAnnouncements, type LeaseView, mostHeld, turnMs } from './decide.ts';

const lease = (address: string, more: Partial<LeaseView> = {}): LeaseView => ({
  ...{ address, holder: '', seenAt: 0, durationMs: 4_000, isReleased: false },
  ...more,
});
const decide = (leases: readonly LeaseView[], more: Partial<AnnouncerFacts> = {}) =>
  decideAnnouncements({
    ...{ node: 'n1', now: 10_000, leases, eligible: () => ({ here: true, others: ['n2'] }), up: new Set<string>() },
    ...more,
  });
const nothing = { renew: [], take: [], drop: [], release: [], nextAt: Number.POSITIVE_INFINITY };

describe('decideAnnouncements', () => {
  it('renews the Leases of this node, and leaves those that others renew', () => {
    const plan = decide([lease('a', { holder: 'n1' }), lease('b', { holder: 'n2', seenAt: 9_000 })]);
    expect(plan).toEqual({ ...nothing, renew: ['a'], nextAt: 13_000 });
  });

  it('takes a Lease that is not renewed for its whole duration, of which a holder may choose a longer one', () => {
    const silent = (seenAt: number, durationMs = 4_000) => [lease('a', { holder: 'n2', seenAt, durationMs })];
    expect(decide(silent(6_000))).toMatchObject({ take: ['a'] });
    expect(decide(silent(6_001))).toMatchObject({ take: [], nextAt: 10_001 });
    expect(decide(silent(0, 16_000))).toMatchObject({ take: [], nextAt: 16_000 });
  });

  it('takes one that was given back at once, and a new one only after its duration: another may still answer', () => {
    const alone = { eligible: () => ({ here: true, others: [] }) };
    expect(decide([lease('a', { seenAt: 10_000, isReleased: true })], alone)).toMatchObject({ take: ['a'] });
    expect(decide([lease('a', { seenAt: 10_000 })], alone)).toEqual({ ...nothing, nextAt: 14_000 });
  });

  it('spreads free addresses over the nodes: each goes to the one that holds the fewest, and the others wait their turn', () => {
    const free = ['a', 'b', 'c', 'd'].map((address) => lease(address, { isReleased: true, seenAt: 10_000 }));
    const taken = ['n1', 'n2'].map((node) => decide(free, { node, eligible: () => ({ here: true, others: ['n1', 'n2'] }) }));
    expect(taken.flatMap(({ take }) => take).toSorted()).toEqual(['a', 'b', 'c', 'd']);
    expect(taken.map(({ take }) => take.length)).toEqual([2, 2]);
    expect(taken.map(({ nextAt }) => nextAt)).toEqual([10_000 + turnMs, 10_000 + turnMs]);
    // The one whose turn it was does not take it: then the next does.
    expect(decide(free, { now: 10_000 + turnMs }).take).toEqual(['a', 'b', 'c', 'd']);
    const held = [lease('x', { holder: 'n1' }), lease('y', { holder: 'n1' }), ...free.slice(0, 2)];
    expect(decide(held).take).toEqual([]);
  });

  it('does not wait for the holder that is silent', () => {
    const all = [lease('a', { holder: 'n2', seenAt: 6_000 }), lease('x', { holder: 'n1' })];
    expect(decide(all).take).toEqual(['a']);
  });

  it('leaves an address alone that has no Service, or that this node is not eligible for', () => {
    const free = [lease('a', { isReleased: true })];
    expect(decide(free, { eligible: () => undefined })).toEqual(nothing);
    expect(decide(free, { eligible: () => ({ here: false, others: ['n2'] }) })).toEqual(nothing);
  });

  it.each([
    ['no longer has a Service', () => undefined],
    ['this node is no longer eligible for', () => ({ here: false, others: ['n2'] })],
  ])('drops an address that %s, and gives its Lease back', (_, eligible) =>
    expect(decide([lease('a', { holder: 'n1' })], { eligible, up: new Set(['a']) })).toEqual({
      ...{ ...nothing, drop: ['a'], release: ['a'] },
    }),
  );

  it('drops an address whose Lease another node has, or that is gone', () => {
    const up = new Set(['a', 'gone']);
    expect(decide([lease('a', { holder: 'n2', seenAt: 9_000 })], { up })).toMatchObject({ drop: ['a', 'gone'], release: [] });
  });

  it('takes no more than a node may hold', () => {
    const alone = { eligible: () => ({ here: true, others: [] }) };
    const full = Array.from({ length: mostHeld }, (_, i) => lease(`h${i}`, { holder: 'n1' }));
    expect(decide([...full, lease('z', { isReleased: true })], alone).take).toEqual([]);
    expect(decide([...full.slice(1), lease('z', { isReleased: true })], alone).take).toEqual(['z']);
  });
});
