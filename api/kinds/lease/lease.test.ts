import { describe, expect, it } from 'vitest';
import type { LeaseSpec } from '../../generated/types.ts';
import { lease } from './kind.ts';

const held: LeaseSpec = { holderIdentity: 'a', leaseDurationSeconds: 15, leaseTransitions: 3, renewTime: { seconds: 10 } };

describe('a lease', () => {
  it.each([
    { change: 'a new lease with a holder', before: undefined, after: held, awaits: true },
    { change: 'a new lease without a holder', before: undefined, after: {}, awaits: false },
    { change: 'a renewal', before: held, after: { ...held, renewTime: { seconds: 20 } }, awaits: false },
    { change: 'another holder', before: held, after: { ...held, holderIdentity: 'b' }, awaits: true },
    { change: 'a further transition', before: held, after: { ...held, leaseTransitions: 4 }, awaits: true },
    { change: 'a release', before: held, after: { ...held, holderIdentity: '' }, awaits: true },
    { change: 'a release that leaves the holder out', before: held, after: { leaseTransitions: 3 }, awaits: true },
    { change: 'two forms of no holder', before: { holderIdentity: '' }, after: {}, awaits: false },
  ])('is on the disk before it is acknowledged where that hands it over: $change', ({ before, after, awaits }) => {
    expect(lease.awaitsDisk?.({ spec: after }, before && { spec: before })).toBe(awaits);
  });

  it('is released by an empty holder, as client-go writes it', () => {
    const now = { seconds: 20 };
    const spec = { holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 3, acquireTime: now, renewTime: now };
    expect(lease.validate({ spec })).toEqual([]);
    expect(lease.validate({ spec: { ...spec, leaseDurationSeconds: 0, leaseTransitions: -1 } })).toHaveLength(2);
  });
});
