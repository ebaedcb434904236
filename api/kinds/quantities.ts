import type { FieldViolation } from '../errors/api-error.ts';
import { invalidValue } from '../errors/violations.ts';
import type { Quantity } from '../generated/types.ts';
import { isQuantity, quantityMilli } from '../meta/quantity.ts';

/** Why a quantity may not stand where only amounts of zero or more make sense; undefined when it may. */
export function amountError(quantity: Quantity | undefined): string | undefined {
  const text = quantity?.string ?? '0';
  if (!isQuantity(text)) return 'must be a quantity such as "100m", "1.5" or "2Gi"';
  return quantityMilli(text) < 0 ? 'must not be negative' : undefined;
}

/** Amounts by name: each must be a quantity that is not negative. */
export function validateQuantities(field: string, amounts: Readonly<Record<string, Quantity>> | undefined): FieldViolation[] {
  const violations: FieldViolation[] = [];
  for (const name in amounts) {
    const rule = amountError(amounts[name]);
    if (rule) violations.push(invalidValue(`${field}[${name}]`, amounts[name]?.string, rule));
  }
  return violations;
}
