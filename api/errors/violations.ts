import type { FieldViolation } from './api-error.ts';
import { typeHint } from './type-hints.ts';

/** The longest piece of a wrong value that a message repeats. */
const SHOWN_CHARACTERS = 80;

function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const text = typeof value === 'string' || isObject ? JSON.stringify(value) : String(value);
  return shortened(text);
}

/** As much of a text from outside as a message repeats. */
export function shortened(text: string, most = SHOWN_CHARACTERS): string {
  return text.length > most ? `${text.slice(0, most)}...` : text;
}

/** A violation with the path of its field; one of the object as a whole has none. */
export function violationLine({ field, description }: Pick<FieldViolation, 'field' | 'description'>): string {
  return field === '' ? description : `${field}: ${description}`;
}

/** The field must be given. */
export function required(field: string, why?: string): FieldViolation {
  return { field, description: why ? `is required: ${why}` : 'is required', reason: 'FieldValueRequired', detail: why ?? '' };
}

/** The value breaks a rule; `why` is the rule ("must be at least 1"). */
export function invalidValue(field: string, value: unknown, why: string): FieldViolation {
  const shown = show(value);
  return { field, description: `invalid value ${shown}: ${why}`, reason: 'FieldValueInvalid', value: shown, detail: why };
}

/** The value is none of the known ones. */
export function notSupported(field: string, value: unknown, supported: readonly string[]): FieldViolation {
  const list = supported.map((each) => JSON.stringify(each)).join(', ');
  const shown = show(value);
  return {
    ...{ field, description: `unsupported value ${shown}: must be one of ${list}`, reason: 'FieldValueNotSupported' },
    ...{ value: shown, detail: `supported values: ${list}` },
  };
}

/** Another item of the list has the same value. */
export function duplicate(field: string, value: unknown): FieldViolation {
  const shown = show(value);
  return { field, description: `duplicate value ${shown}`, reason: 'FieldValueDuplicate', value: shown, detail: '' };
}

/** The field may not be set, or may not change, here. */
export function forbidden(field: string, why: string): FieldViolation {
  return { field, description: `forbidden: ${why}`, reason: 'FieldValueForbidden', detail: why };
}

/** More bytes or characters than allowed. */
export function tooLong(field: string, maximum: number, unit: 'characters' | 'bytes'): FieldViolation {
  const detail = `may not be more than ${maximum} ${unit}`;
  return { field, description: `too long: must have at most ${maximum} ${unit}`, reason: 'FieldValueTooLong', detail };
}

/** The field has too many parts. */
export function invalidSize(field: string, maximum: number, parts: string): FieldViolation {
  const detail = `must have at most ${maximum} ${parts}`;
  return { field, description: `too many: ${detail}`, reason: 'FieldValueTooMany', detail };
}

/** The field names something that is not there. */
export function notFoundValue(field: string, value: unknown): FieldViolation {
  const shown = show(value);
  return { field, description: `not found: ${shown}`, reason: 'FieldValueNotFound', value: shown, detail: '' };
}

/** The value has the wrong JSON type. */
export function wrongType(field: string, expected: string, found: string, value?: string): FieldViolation {
  const description = `wrong type: expected ${expected}, found ${found}${typeHint(field, expected, found)}`;
  return {
    field,
    description,
    reason: 'FieldValueTypeInvalid',
    ...(value !== undefined && { value, detail: `expected ${expected}` }),
  };
}

export const FIELD_UNKNOWN = 'FieldUnknown';
export const FIELD_DUPLICATE = 'FieldDuplicate';

/** The kind has no such field. */
export function unknownField(field: string, didYouMean?: string): FieldViolation {
  const hint = didYouMean === undefined ? '' : `; did you mean "${didYouMean}"?`;
  return { field, description: `unknown field${hint}`, reason: FIELD_UNKNOWN };
}

/** A JSON object has the field twice: the last one counts where that is allowed. */
export function duplicateField(field: string): FieldViolation {
  return { field, description: 'the field is given twice', reason: FIELD_DUPLICATE };
}
