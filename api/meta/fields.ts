import { badRequest } from '../errors/constructors.ts';
import { invalidValue, shortened } from '../errors/violations.ts';
import { checkSelectorLength, checkSelectorTerms } from './selector-bounds.ts';

/** One condition on a field. */
export interface FieldRequirement {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

/** A compiled field selector: all requirements must hold. */
export interface FieldMatcher {
  readonly requirements: readonly FieldRequirement[];
  /** `read` gives a field's value, "" when it is absent. */
  matches(read: (field: string) => string): boolean;
}

/**
 * Reads "status.phase=Running,spec.nodeName!=n1"; "\" escapes ",", "=" and itself in values. Throws ApiError (invalid
 * argument). Which fields exist is the kind's to say: see its selectableFields.
 */
export function parseFieldSelector(text: string): FieldMatcher {
  checkSelectorLength('fieldSelector', text);
  const terms = splitTerms(text);
  checkSelectorTerms('fieldSelector', terms.length);
  const requirements = terms.map((term) => parseTerm(term, text));
  return {
    requirements,
    matches(read) {
      for (const { field, operator, value } of requirements) if ((read(field) === value) !== (operator === '=')) return false;
      return true;
    },
  };
}

/** Cuts at every "," that is not escaped. */
function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === ',') {
      terms.push(text.slice(start, i));
      start = i + 1;
    }
  }
  terms.push(text.slice(start));
  return terms.map((term) => term.trim()).filter((term) => term !== '');
}

function parseTerm(term: string, text: string): FieldRequirement {
  const parts = /^([^=!\\\s]+)\s*(!=|==|=)\s*(.*)$/s.exec(term);
  const value = parts ? unescapeValue(parts[3]!) : undefined;
  if (!parts || value === undefined) {
    const why = `"${shortened(term)}" is not a field, =, == or !=, and a value ("\\" before "," "=" and "\\" in the value)`;
    throw badRequest(`cannot read field selector "${shortened(text)}": ${why}`, [invalidValue('fieldSelector', text, why)]);
  }
  return { field: parts[1]!, operator: parts[2] === '!=' ? '!=' : '=', value };
}

/** Undefined when something is escaped that needs none, or "=" stands without an escape. */
function unescapeValue(value: string): string | undefined {
  return /^(\\[\\,=]|[^\\,=])*$/s.test(value) ? value.replace(/\\([\\,=])/g, '$1') : undefined;
}
