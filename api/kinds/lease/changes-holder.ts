import type { Lease } from '../../generated/types.ts';

/**
 * Whether a write hands the lease to another holder or releases it. After a crash of the server such a write must not
 * be undone: the holder before it would hold the lease again, beside the one that was told that it has it. A lost
 * renewal is only a renewal less.
 */
export function changesHolder({ spec: next }: Lease, previous: Lease | undefined): boolean {
  const before = previous?.spec;
  return (
    (next?.holderIdentity ?? '') !== (before?.holderIdentity ?? '') ||
    (next?.leaseTransitions ?? 0) !== (before?.leaseTransitions ?? 0)
  );
}
