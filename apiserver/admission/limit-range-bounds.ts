import type { LimitRange, LimitRangeItem, PersistentVolumeClaim, Pod, PodSpec, Quantity } from '../../api/generated/types.ts';
import { amountText } from '../../api/kinds/amount-text.ts';
import { type Amounts, specAmounts } from '../../api/kinds/pod/resources.ts';
import { canonicalQuantity, compareQuantity, isQuantity, parseQuantity } from '../../api/meta/quantity.ts';

type Quantities = Readonly<Record<string, Quantity>>;

/** What one container, pod or claim requests and may use. */
interface Bounded {
  readonly requests: Quantities;
  readonly limits: Quantities;
}

/** How a pod breaks a limit range, in Kubernetes' words. */
export function podViolations({ spec: { limits: items = [] } = {} }: LimitRange, { spec = {} }: Pod): string[] {
  return items.flatMap((item) => {
    if (item.type === 'Container') return containersOf(spec).flatMap((bounded) => violations(item, bounded));
    return item.type === 'Pod' ? violations(item, podOf(spec)) : [];
  });
}

/** How a claim breaks a limit range. */
export function claimViolations(
  { spec: { limits: items = [] } = {} }: LimitRange,
  { spec = {} }: PersistentVolumeClaim,
): string[] {
  const { requests = {} } = spec.resources ?? {};
  if (!areReadable(requests)) return [];
  return items.flatMap((item) => {
    if (item.type !== 'PersistentVolumeClaim') return [];
    const least = each(item.min, (name, bound) =>
      minViolation(`${name} usage per ${item.type}`, bound, requests[name], undefined),
    );
    return [...least, ...each(item.max, (name, bound) => claimMaxViolation(name, bound, requests[name]))];
  });
}

/** Containers whose amounts are quantities; validation refuses the others. */
function containersOf({ containers = [], initContainers = [] }: PodSpec): Bounded[] {
  return [...containers, ...initContainers]
    .map(({ resources }) => ({ requests: resources?.requests ?? {}, limits: resources?.limits ?? {} }))
    .filter(({ requests, limits }) => areReadable(requests) && areReadable(limits));
}

function podOf(spec: PodSpec): Bounded {
  const { requests = {}, limits = {} } = spec.resources ?? {};
  const count = (spec.containers?.length ?? 0) + (spec.initContainers?.length ?? 0);
  if (containersOf(spec).length < count || !areReadable(requests) || !areReadable(limits)) return { requests: {}, limits: {} };
  return { requests: quantitiesOf(specAmounts(spec, 'requests')), limits: quantitiesOf(specAmounts(spec, 'limits')) };
}

const quantitiesOf = (amounts: Amounts): Quantities =>
  Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, { string: amountText(name, amount) }]));

const areReadable = (quantities: Quantities): boolean => Object.values(quantities).every(({ string = '' }) => isQuantity(string));

function violations({ type = '', min, max, maxLimitRequestRatio }: LimitRangeItem, { requests, limits }: Bounded): string[] {
  const usage = (name: string) => `${name} usage per ${type}`;
  return [
    ...each(min, (name, bound) => minViolation(usage(name), bound, requests[name], limits[name])),
    ...each(max, (name, bound) => maxViolation(usage(name), bound, requests[name], limits[name])),
    ...each(maxLimitRequestRatio, (name, bound) =>
      ratioViolation(`${name} max limit to request ratio per ${type}`, bound, requests[name], limits[name]),
    ),
  ];
}

/** By name, so that one mistake always reads the same. */
function each(bounds: Quantities = {}, look: (name: string, bound: Quantity) => string | undefined): string[] {
  return Object.keys(bounds)
    .toSorted()
    .flatMap((name) => look(name, bounds[name]!) ?? []);
}

function minViolation(
  usage: string,
  bound: Quantity,
  request: Quantity | undefined,
  limit: Quantity | undefined,
): string | undefined {
  const said = `minimum ${usage} is ${canonicalQuantity(bound)}`;
  if (!request) return `${said}.  No request is specified`;
  if (compareQuantity(request, bound) < 0) return `${said}, but request is ${canonicalQuantity(request)}`;
  if (limit && compareQuantity(limit, bound) < 0) return `${said}, but limit is ${canonicalQuantity(limit)}`;
  return undefined;
}

function maxViolation(
  usage: string,
  bound: Quantity,
  request: Quantity | undefined,
  limit: Quantity | undefined,
): string | undefined {
  const said = `maximum ${usage} is ${canonicalQuantity(bound)}`;
  if (!limit) return `${said}.  No limit is specified`;
  if (compareQuantity(limit, bound) > 0) return `${said}, but limit is ${canonicalQuantity(limit)}`;
  if (request && compareQuantity(request, bound) > 0) return `${said}, but request is ${canonicalQuantity(request)}`;
  return undefined;
}

function claimMaxViolation(name: string, bound: Quantity, request: Quantity | undefined): string | undefined {
  const said = `maximum ${name} usage per PersistentVolumeClaim is ${canonicalQuantity(bound)}`;
  if (!request) return `${said}.  No request is specified`;
  return compareQuantity(request, bound) > 0 ? `${said}, but request is ${canonicalQuantity(request)}` : undefined;
}

function ratioViolation(
  ratio: string,
  bound: Quantity,
  request: Quantity | undefined,
  limit: Quantity | undefined,
): string | undefined {
  const said = `${ratio} is ${canonicalQuantity(bound)}`;
  const [most, least] = [nanosOf(limit), nanosOf(request)];
  if (least <= 0n) return `${said}, but no request is specified or request is 0`;
  if (most <= 0n) return `${said}, but no limit is specified or limit is 0`;
  // limit / request > bound, without a division.
  if (most * NANO <= nanosOf(bound) * least) return undefined;
  return `${said}, but provided ratio is ${(Number(most) / Number(least)).toFixed(6)}`;
}

const NANO = 1_000_000_000n;

const nanosOf = (quantity: Quantity | undefined): bigint => (quantity ? parseQuantity(quantity).nanos : 0n);
