import type { FieldViolation } from '../../errors/api-error.ts';
import { duplicate, forbidden, invalidValue, required } from '../../errors/violations.ts';
import type { LimitRange, LimitRangeItem, Quantity } from '../../generated/types.ts';
import { qualifiedNameError } from '../../meta/names.ts';
import { compareQuantity, isQuantity, quantityMilli } from '../../meta/quantity.ts';
import { checkOneOf, checkRule, type Violations } from '../checks.ts';
import { containerResourceNameError } from '../pod/validate-resources.ts';
import { limitedNameError, mayOvercommit } from '../resource-names.ts';

const TYPES = ['Pod', 'Container', 'PersistentVolumeClaim'];
const PARTS = ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const;
type Part = (typeof PARTS)[number];

export function validateLimitRange({ spec }: LimitRange): FieldViolation[] {
  const out: Violations = [];
  const seen = new Set<string>();
  (spec?.limits ?? []).forEach((item, i) => {
    const at = `spec.limits[${i}]`;
    const { type = '' } = item;
    if (type === '') out.push(required(`${at}.type`));
    else if (type.includes('/')) checkRule(out, at, '.type', type, qualifiedNameError(type));
    else checkOneOf(out, at, '.type', type, TYPES);
    if (seen.has(type)) out.push(duplicate(`${at}.type`, type));
    seen.add(type);
    checkItem(out, at, item);
  });
  return out;
}

function checkItem(out: Violations, at: string, item: LimitRangeItem): void {
  const { type = '', min = {}, max = {} } = item;
  if (type === 'Pod') {
    for (const part of ['default', 'defaultRequest'] as const)
      if (Object.keys(item[part] ?? {}).length > 0)
        out.push(forbidden(`${at}.${part}`, 'only containers have defaults, and not pods'));
  }
  if (type === 'PersistentVolumeClaim' && !min.storage && !max.storage)
    out.push(required(at, 'the least or the most storage of a claim, in min or max'));
  const nameError = type === 'Pod' || type === 'Container' ? containerResourceNameError : limitedNameError;
  const names = new Set<string>();
  for (const part of PARTS) {
    for (const [name, { string: text = '0' }] of Object.entries(item[part] ?? {})) {
      checkRule(out, at, `.${part}[${name}]`, name, nameError(name));
      if (isQuantity(text)) names.add(name);
      else out.push(invalidValue(`${at}.${part}[${name}]`, text, 'must be a quantity such as "100m", "1.5" or "2Gi"'));
    }
  }
  for (const name of names) checkConsistent(out, at, name, (part) => amountOf(item, part, name));
}

/** The amount that one part of an item has of a resource; undefined where it has none. */
function amountOf(item: LimitRangeItem, part: Part, name: string): Quantity | undefined {
  if (item.type === 'Pod' && (part === 'default' || part === 'defaultRequest')) return undefined;
  const found = item[part]?.[name];
  return found && isQuantity(found.string ?? '0') ? found : undefined;
}

/** Pairs of which the first must not be more than the second, and which of them is then wrong. */
const ORDERED: readonly (readonly [least: Part, most: Part, wrong: Part])[] = [
  ['min', 'max', 'min'],
  ['min', 'defaultRequest', 'defaultRequest'],
  ['defaultRequest', 'max', 'defaultRequest'],
  ['defaultRequest', 'default', 'defaultRequest'],
  ['min', 'default', 'default'],
  ['default', 'max', 'default'],
];

function checkConsistent(out: Violations, at: string, name: string, amount: (part: Part) => Quantity | undefined): void {
  for (const [least, most, wrong] of ORDERED) {
    const [a, b] = [amount(least), amount(most)];
    if (a && b && compareQuantity(a, b) > 0)
      out.push(
        invalidValue(
          `${at}.${wrong}[${name}]`,
          amount(wrong)?.string,
          `${least} ${a.string} is greater than ${most} ${b.string}`,
        ),
      );
  }
  checkRatio(out, `${at}.maxLimitRequestRatio[${name}]`, amount);
  const [limit, request] = [amount('default'), amount('defaultRequest')];
  if (limit && request && !mayOvercommit(name) && compareQuantity(limit, request) !== 0)
    out.push(invalidValue(`${at}.defaultRequest[${name}]`, request.string, `must be equal to the default ${limit.string}`));
}

function checkRatio(out: Violations, field: string, amount: (part: Part) => Quantity | undefined): void {
  const [ratio, min, max] = [amount('maxLimitRequestRatio'), amount('min'), amount('max')];
  if (!ratio) return;
  const value = quantityMilli(ratio) / 1000;
  if (value < 1) out.push(invalidValue(field, ratio.string, 'must be at least 1'));
  if (!min || !max) return;
  const most = quantityMilli(max) / quantityMilli(min);
  if (value > most) out.push(invalidValue(field, ratio.string, `is greater than max / min, which is ${most}`));
}
