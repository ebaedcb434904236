import { badRequest } from '../errors/constructors.ts';
import { invalidSize, tooLong } from '../errors/violations.ts';

/**
 * A request for objects by name has a few; a controller that names each of its objects should ask for a label instead.
 */
export const maxSelectorLength = 64 * 1024;
export const maxSelectorTerms = 1_000;

export type SelectorField = 'labelSelector' | 'fieldSelector';

/** Before a selector is read. Throws INVALID_ARGUMENT. */
export function checkSelectorLength(field: SelectorField, text: string): void {
  if (text.length <= maxSelectorLength) return;
  const violation = tooLong(field, maxSelectorLength, 'characters');
  throw badRequest(`cannot read the ${field}: ${violation.description}`, [violation]);
}

/** A term is a requirement, and each value of a set. Throws INVALID_ARGUMENT. */
export function checkSelectorTerms(field: SelectorField, terms: number): void {
  if (terms <= maxSelectorTerms) return;
  const violation = invalidSize(field, maxSelectorTerms, 'terms');
  throw badRequest(`cannot read the ${field}: ${violation.description}`, [violation]);
}
