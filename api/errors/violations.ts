import type { FieldViolation } from './api-error.ts';

/** The longest piece of a wrong value that a message repeats. */
const SHOWN_CHARACTERS = 80;

function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return shortened(text);
}

/** As much of a text from outside as a message repeats. */
export function shortened(text: string, most = SHOWN_CHARACTERS): string {
  return text.length > most ? `${text.slice(0, most)}...` : text;
}

/** The field must be given. */
export function required(field: string, why?: string): FieldViolation {
  return { field, description: why ? `is required: ${why}` : 'is required', reason: 'FieldValueRequired' };
}

/** The value breaks a rule; `why` is the rule ("must be at least 1"). */
export function invalidValue(field: string, value: unknown, why: string): FieldViolation {
  return { field, description: `invalid value ${show(value)}: ${why}`, reason: 'FieldValueInvalid' };
}

/** The value is none of the known ones. */
export function notSupported(field: string, value: unknown, supported: readonly string[]): FieldViolation {
  const list = supported.map((each) => JSON.stringify(each)).join(', ');
  return { field, description: `unsupported value ${show(value)}: must be one of ${list}`, reason: 'FieldValueNotSupported' };
}

/** Another item of the list has the same value. */
export function duplicate(field: string, value: unknown): FieldViolation {
  return { field, description: `duplicate value ${show(value)}`, reason: 'FieldValueDuplicate' };
}

/** The field may not be set, or may not change, here. */
export function forbidden(field: string, why: string): FieldViolation {
  return { field, description: `forbidden: ${why}`, reason: 'FieldValueForbidden' };
}

/** More bytes or characters than allowed. */
export function tooLong(field: string, maximum: number, unit: 'characters' | 'bytes'): FieldViolation {
  return { field, description: `too long: must have at most ${maximum} ${unit}`, reason: 'FieldValueTooLong' };
}

/** The field has too many parts. */
export function invalidSize(field: string, maximum: number, parts: string): FieldViolation {
  return { field, description: `too many: must have at most ${maximum} ${parts}`, reason: 'FieldValueTooMany' };
}

/** The field names something that is not there. */
export function notFoundValue(field: string, value: unknown): FieldViolation {
  return { field, description: `not found: ${show(value)}`, reason: 'FieldValueNotFound' };
}

/** The value has the wrong JSON type. */
export function wrongType(field: string, expected: string, found: string): FieldViolation {
  const hint = quotesHint(expected, found);
  return { field, description: `wrong type: expected ${expected}, found ${found}${hint}`, reason: 'FieldValueTypeInvalid' };
}

/** YAML reads 5, yes and true without quotes as numbers and booleans, and "80" with them as a string. */
function quotesHint(expected: string, found: string): string {
  if (expected === 'a string' && /^(number|true|false|boolean)/.test(found)) return '; put it in quotes';
  const isNumber = /^an? (integer|number)/.test(expected) && /^string "-?\d+"$/.test(found);
  const isBoolean = expected === 'true or false' && /^string "(true|false)"$/.test(found);
  return isNumber || isBoolean ? '; remove the quotes' : '';
}

export const FIELD_UNKNOWN = 'FieldUnknown';

/** The kind has no such field. */
export function unknownField(field: string, didYouMean?: string): FieldViolation {
  const hint = didYouMean === undefined ? '' : `; did you mean "${didYouMean}"?`;
  return { field, description: `unknown field${hint}`, reason: FIELD_UNKNOWN };
}
