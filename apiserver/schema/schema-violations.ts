import { type FieldViolation, shortened } from '../../api/errors/index.ts';

/** The longest piece of a value that a message repeats. */
const SHOWN_CHARACTERS = 120;
/** Items of an enumeration that a message lists. */
const SHOWN_CHOICES = 30;

/** The texts of Kubernetes' field errors (apimachinery's field.Error), which tools and users of custom kinds know. */
export function invalidAt(field: string, value: unknown, why: string): FieldViolation {
  return { field, description: `Invalid value: ${shown(value)}: ${why}`, reason: 'FieldValueInvalid' };
}

export function wrongTypeAt(field: string, value: unknown, why: string): FieldViolation {
  return { field, description: `Invalid value: ${shown(value)}: ${why}`, reason: 'FieldValueTypeInvalid' };
}

export function requiredAt(field: string, why = ''): FieldViolation {
  return { field, description: why === '' ? 'Required value' : `Required value: ${why}`, reason: 'FieldValueRequired' };
}

export function forbiddenAt(field: string, why: string): FieldViolation {
  return { field, description: `Forbidden: ${why}`, reason: 'FieldValueForbidden' };
}

export function duplicateAt(field: string, value: unknown): FieldViolation {
  return { field, description: `Duplicate value: ${shown(value)}`, reason: 'FieldValueDuplicate' };
}

export function unsupportedAt(field: string, value: unknown, supported: readonly unknown[]): FieldViolation {
  const list = supported.slice(0, SHOWN_CHOICES).map(shown).join(', ');
  const more = supported.length > SHOWN_CHOICES ? ', ...' : '';
  return {
    field,
    description: `Unsupported value: ${shown(value)}: supported values: ${list}${more}`,
    reason: 'FieldValueNotSupported',
  };
}

export function tooLongAt(field: string, most: number): FieldViolation {
  return { field, description: `Too long: may not be more than ${most} bytes`, reason: 'FieldValueTooLong' };
}

export function tooManyAt(field: string, count: number, most: number): FieldViolation {
  return { field, description: `Too many: ${count}: must have at most ${most} items`, reason: 'FieldValueTooMany' };
}

/** A value as JSON; of lists and objects no more is written out than is shown. */
function shown(value: unknown): string {
  if (typeof value === 'string') return shortened(JSON.stringify(value.slice(0, SHOWN_CHARACTERS + 1)), SHOWN_CHARACTERS);
  if (value === null) return '"null"';
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return value.length > 20 ? '"array"' : shownPart(value);
  return Object.keys(value).length > 20 ? '"object"' : shownPart(value);
}

/** Parts below the second level are shown as "array" and "object", so that the text is bounded before it is cut. */
function shownPart(value: object): string {
  let places = 40;
  const text = JSON.stringify(value, (_key, part: unknown) => {
    if (places-- > 0) return typeof part === 'string' ? part.slice(0, SHOWN_CHARACTERS) : part;
    return Array.isArray(part) ? 'array' : typeof part === 'object' && part !== null ? 'object' : 0;
  });
  return shortened(text, SHOWN_CHARACTERS);
}
