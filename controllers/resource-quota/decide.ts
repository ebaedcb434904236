import type { Quantity, ResourceQuota, ResourceQuotaStatus } from '../../api/generated/types.ts';
import { amountText } from '../../api/kinds/amount-text.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { Amounts } from '../../api/kinds/pod/resources.ts';
import { concerns } from '../../api/kinds/resource-quota/quota-names.ts';
import { counted, quotaRules } from '../../api/kinds/resource-quota/quota-rules.ts';
import { endedShare, type QuotaShare } from '../../api/kinds/resource-quota/quota-share.ts';
import { equalQuantity } from '../../api/meta/quantity.ts';

/** All objects of one kind in the quota's namespace. */
export interface Content {
  readonly kind: Kind;
  shares(): Iterable<QuotaShare>;
}

export interface QuotaPlan {
  /** The status as it should be; undefined when it is so. */
  readonly status: ResourceQuotaStatus | undefined;
  /** In how many ms it changes by time alone. */
  readonly againInMs: number | undefined;
}

/**
 * What a quota is used by. As in Kubernetes a bound of something that no kind here has is enforced by nothing, and
 * missing in `used`.
 */
export function decideQuota(quota: ResourceQuota, contents: readonly Content[], now: number): QuotaPlan {
  const rules = quotaRules(quota);
  const names = Object.keys(rules.hard);
  const sums: Amounts = {};
  let until = Number.POSITIVE_INFINITY;
  for (const { kind, shares } of contents) {
    const own = names.filter((name) => concerns(kind, name));
    if (own.length === 0) continue;
    for (const name of own) sums[name] ??= 0;
    for (const share of shares()) {
      if (share.until !== undefined && share.until >= now) until = Math.min(until, share.until);
      const amounts = counted(rules, isOver(share, now) ? endedShare(share) : share);
      for (const name in amounts) sums[name] = (sums[name] ?? 0) + amounts[name]!;
    }
  }
  const used = Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, { string: amountText(name, sum) }]));
  const isSame = sameQuantities(quota.status?.hard, rules.hard) && sameQuantities(quota.status?.used, used);
  const againInMs = Number.isFinite(until) ? until - now + 1 : undefined;
  return { status: isSame ? undefined : { hard: { ...rules.hard }, used }, againInMs };
}

const isOver = ({ until }: QuotaShare, now: number): boolean => until !== undefined && until < now;

type Quantities = Readonly<Record<string, Quantity>>;

function sameQuantities(is: Quantities = {}, wanted: Quantities): boolean {
  const names = Object.keys(wanted);
  if (Object.keys(is).length !== names.length) return false;
  return names.every((name) => is[name] !== undefined && equalQuantity(is[name], wanted[name]));
}
