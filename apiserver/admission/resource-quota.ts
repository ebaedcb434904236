import { isKind, type KindName, kindId, kinds } from '../../api/kinds/index.ts';
import { isCounted } from '../../api/kinds/resource-quota/quota-names.ts';
import type { Admission } from './admission.ts';

/**
 * Quotas are enforced in the turn in which a write is submitted (`registry/quota-ledger.ts`), since only there is
 * nothing in between. This says that objects of every kind depend on them.
 */
export const quotaDependence: Admission = {
  reads: Object.fromEntries(
    kinds
      .filter((kind) => isCounted(kind) && !isKind(kind, 'ResourceQuota'))
      .map((kind) => [kindId(kind) as KindName, ['ResourceQuota'] as const]),
  ),
  create: () => undefined,
};
