import { invalidValue, required } from '../../errors/violations.ts';
import type { PodSpec, Quantity, ResourceRequirements } from '../../generated/types.ts';
import { qualifiedNameError } from '../../meta/names.ts';
import { canonicalQuantity, compareQuantity, parseQuantity } from '../../meta/quantity.ts';
import type { Violations } from '../checks.ts';
import { amountError } from '../quantities.ts';

const PLAIN_RESOURCES = ['cpu', 'memory', 'ephemeral-storage'];
const MILLI = 1000n;

const isHugePages = (name: string): boolean => name.startsWith('hugepages-');
const isExtended = (name: string): boolean => name.includes('/');

/** A resource that a container can request. */
export function containerResourceNameError(name: string): string | undefined {
  const rule = qualifiedNameError(name);
  if (rule) return rule;
  if (isExtended(name) || isHugePages(name) || PLAIN_RESOURCES.includes(name)) return undefined;
  return `must be ${PLAIN_RESOURCES.join(', ')}, hugepages-SIZE, or a name with a domain such as example.com/gpu`;
}

/** Names, amounts, and that nothing is requested beyond its limit. */
export function checkResources(out: Violations, at: string, resources: ResourceRequirements | undefined, spec: PodSpec): void {
  if (!resources) return;
  const { limits, requests, claims } = resources;
  checkAmounts(out, `${at}.limits`, limits);
  checkAmounts(out, `${at}.requests`, requests);
  for (const name in requests) checkAgainstLimit(out, at, name, requests[name]!, limits?.[name]);
  claims?.forEach(({ name = '' }, i) => {
    const known = spec.resourceClaims?.some((claim) => claim.name === name);
    if (name === '') out.push(required(`${at}.claims[${i}].name`));
    else if (!known) out.push(invalidValue(`${at}.claims[${i}].name`, name, 'must be the name of one of spec.resourceClaims'));
  });
}

/** Amounts by resource name, for containers, pods and overhead. */
export function checkAmounts(out: Violations, at: string, amounts: Readonly<Record<string, Quantity>> | undefined): void {
  for (const name in amounts) {
    const rule = containerResourceNameError(name);
    if (rule) out.push(invalidValue(`${at}[${name}]`, name, rule));
    const wrong = amountError(amounts[name]) ?? (isExtended(name) ? wholeError(amounts[name]!) : undefined);
    if (wrong) out.push(invalidValue(`${at}[${name}]`, amounts[name]?.string, wrong));
  }
}

/** Devices come whole. */
function wholeError(quantity: Quantity): string | undefined {
  return parseQuantity(quantity).milli % MILLI === 0n ? undefined : 'must be an integer';
}

function checkAgainstLimit(out: Violations, at: string, name: string, request: Quantity, limit: Quantity | undefined): void {
  const mustBeEqual = isExtended(name) || isHugePages(name);
  if (limit === undefined) {
    if (mustBeEqual) out.push(required(`${at}.limits[${name}]`, 'what cannot be shared needs a limit'));
    return;
  }
  if (amountError(request) || amountError(limit) || request.string === limit.string) return;
  const difference = compareQuantity(request, limit);
  if (difference < 0 ? !mustBeEqual : difference === 0) return;
  const field = `${at}.requests[${name}]`;
  const relation = difference > 0 ? 'less than or equal to' : 'equal to';
  out.push(invalidValue(field, request.string, `must be ${relation} the limit ${canonicalQuantity(limit)}`));
}
