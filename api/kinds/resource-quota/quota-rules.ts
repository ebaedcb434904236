import type { Container, Pod, Quantity, ResourceQuota } from '../../generated/types.ts';
import { canonicalQuantity, parseQuantity } from '../../meta/quantity.ts';
import { amountText, isCpuName } from '../amount-text.ts';
import type { Kind } from '../kind.ts';
import type { Amounts } from '../pod/resources.ts';
import { concerns, REQUIRED_NAMES } from './quota-names.ts';
import { fitsScopes, type Scope, scopesOf } from './quota-scopes.ts';
import type { QuotaShare } from './quota-share.ts';

/** A quota as it is enforced. */
export interface QuotaRules {
  readonly name: string;
  readonly hard: Readonly<Record<string, Quantity>>;
  readonly scopes: readonly Scope[];
  /** The bounds in the units of shares, rounded down. */
  readonly most: Readonly<Amounts>;
}

export function quotaRules(quota: ResourceQuota): QuotaRules {
  const { hard = {} } = quota.spec ?? {};
  const most = Object.fromEntries(Object.entries(hard).map(([name, quantity]) => [name, mostOf(name, quantity)]));
  return { name: quota.metadata?.name ?? '', hard, scopes: scopesOf(quota), most };
}

function mostOf(name: string, quantity: Quantity): number {
  const { nanos } = parseQuantity(quantity);
  return Number(nanos / (isCpuName(name) ? 1_000_000n : 1_000_000_000n));
}

/** Whether objects of the kind may count against the quota. */
export function boundsKind({ hard }: QuotaRules, kind: Kind): boolean {
  return Object.keys(hard).some((name) => concerns(kind, name));
}

/** What of an object's share counts against the quota: nothing where it is not of the quota's scopes. */
export function counted({ most, scopes }: QuotaRules, share: QuotaShare | undefined): Amounts {
  const amounts: Amounts = {};
  if (!share || !fitsScopes(scopes, share.facts)) return amounts;
  for (const name in most) {
    const amount = share.amounts[name];
    if (amount) amounts[name] = amount;
  }
  return amounts;
}

/** Why the quota has no room for so much more, in Kubernetes' words; undefined when it has. */
export function excess(
  { name: quota, most, hard }: QuotaRules,
  used: Readonly<Amounts>,
  more: Readonly<Amounts>,
): string | undefined {
  const names = Object.keys(more)
    .filter((name) => (used[name] ?? 0) + more[name]! > most[name]!)
    .toSorted();
  if (names.length === 0) return undefined;
  const list = (text: (name: string) => string) => names.map((name) => `${name}=${text(name)}`).join(',');
  const requested = list((name) => amountText(name, more[name]!));
  const inUse = list((name) => amountText(name, used[name] ?? 0));
  return `exceeded quota: ${quota}, requested: ${requested}, used: ${inUse}, limited: ${list((name) => canonicalQuantity(hard[name]!))}`;
}

/** Which of a pod's containers do not say how much they want of what quotas ask for, by the names in quotas. */
export type Lacks = Readonly<Partial<Record<string, readonly string[]>>>;

/** What the pod as a whole says its containers need not say. */
export function lacksOf({ spec = {} }: Pod): Lacks {
  const lacks: Record<string, string[]> = {};
  for (const name of REQUIRED_NAMES) {
    if (says(spec, name)) continue;
    const silent = [...(spec.containers ?? []), ...(spec.initContainers ?? [])].filter((container) => !says(container, name));
    if (silent.length > 0) lacks[name] = silent.map((container) => container.name ?? '').toSorted();
  }
  return lacks;
}

function says({ resources }: Pick<Container, 'resources'>, name: (typeof REQUIRED_NAMES)[number]): boolean {
  const part = name.startsWith('limits.') ? resources?.limits : resources?.requests;
  return part?.[name.replace(/^(requests|limits)\./, '')] !== undefined;
}

/** Why the quota refuses a pod whatever room there is: its containers must say what they want. Else undefined. */
export function lackingMessage({ name: quota, hard, scopes }: QuotaRules, share: QuotaShare, lacks: Lacks): string | undefined {
  const names = Object.keys(lacks).filter((name) => hard[name] !== undefined);
  if (names.length === 0 || !fitsScopes(scopes, share.facts)) return undefined;
  const parts = names.toSorted().map((name) => `${name} for: ${lacks[name]!.join(',')}`);
  return `failed quota: ${quota}: must specify ${parts.join('; ')}`;
}
