import type { FieldViolation } from '../../api/errors/index.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { isJsonObject, type Json, type JsonObject } from '../../api/meta/merge-patch.ts';
import type { Budget } from '../cel/budget.ts';
import { compilePattern } from '../cel/patterns.ts';
import { hasNumberFormat, hasTextFormat } from './formats.ts';
import { entry, member, type Place, placeText } from './paths.ts';
import type { NestedRules, ValueRules } from './schema-node.ts';
import { invalidAt, requiredAt, tooLongAt, tooManyAt, unsupportedAt, wrongTypeAt } from './schema-violations.ts';

/** Checks one value against the keywords about values; its parts only as far as allOf and so on speak of them. */
export function checkRules(value: Json, rules: ValueRules, place: Place | undefined, budget: Budget): FieldViolation[] {
  const violations: FieldViolation[] = [];
  budget.take(Math.floor(((rules.enum?.length ?? 0) + (rules.required?.length ?? 0)) / 20));
  if (rules.enum !== undefined && !rules.enum.some((choice) => equalValues(choice, value)))
    violations.push(unsupportedAt(placeText(place), value, rules.enum));
  if (typeof value === 'string') checkText(value, rules, place, { violations, budget });
  else if (typeof value === 'number') checkNumber(value, rules, place, violations);
  else if (Array.isArray(value)) checkList(value, rules, place, violations);
  else if (isJsonObject(value)) checkObject(value, rules, place, { violations, budget });
  if (rules.allOf || rules.anyOf || rules.oneOf || rules.not) checkAlternatives(value, rules, place, { violations, budget });
  return violations;
}

interface Checked {
  readonly violations: FieldViolation[];
  readonly budget: Budget;
}

function checkText(text: string, rules: ValueRules, place: Place | undefined, { violations, budget }: Checked): void {
  const { maxLength, minLength, pattern, format } = rules;
  const path = () => placeText(place);
  if (maxLength !== undefined || minLength !== undefined || format !== undefined) budget.take(Math.floor(text.length / 20));
  if (maxLength !== undefined && text.length > maxLength && characters(text) > maxLength)
    violations.push(tooLongAt(path(), maxLength));
  if (minLength !== undefined && (text.length < minLength || characters(text) < minLength))
    violations.push(invalidAt(path(), text, `${inBody(path())} should be at least ${minLength} chars long`));
  if (pattern !== undefined && !matches(text, pattern, budget))
    violations.push(invalidAt(path(), text, `${inBody(path())} should match '${pattern}'`));
  if (format !== undefined && !hasTextFormat(text, format))
    violations.push(invalidAt(path(), text, `${inBody(path())} must be of type ${format}: ${quoted(text)}`));
}

/** A stored schema may have an expression that is refused today: nothing matches it. */
function matches(text: string, pattern: string, budget: Budget): boolean {
  try {
    return compilePattern(pattern).test(text, budget);
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

function checkNumber(number: number, rules: ValueRules, place: Place | undefined, violations: FieldViolation[]): void {
  const { minimum, maximum, multipleOf, format } = rules;
  const refuse = (why: string) => violations.push(invalidAt(placeText(place), number, `${inBody(placeText(place))} ${why}`));
  if (maximum !== undefined && (rules.exclusiveMaximum ? number >= maximum : number > maximum))
    refuse(`should be less than ${rules.exclusiveMaximum ? '' : 'or equal to '}${maximum}`);
  if (minimum !== undefined && (rules.exclusiveMinimum ? number <= minimum : number < minimum))
    refuse(`should be greater than ${rules.exclusiveMinimum ? '' : 'or equal to '}${minimum}`);
  if (multipleOf !== undefined && !isMultiple(number, multipleOf)) refuse(`should be a multiple of ${multipleOf}`);
  if (format !== undefined && !hasNumberFormat(number, format)) refuse(`must be within the range of format ${format}`);
}

/** With the tolerance that Kubernetes has for what binary fractions cannot say exactly. */
function isMultiple(number: number, factor: number): boolean {
  const times = number / factor;
  return Number.isFinite(times) && Math.abs(times - Math.round(times)) < 1e-9 * Math.max(1, Math.abs(times));
}

function checkList(list: readonly Json[], rules: ValueRules, place: Place | undefined, violations: FieldViolation[]): void {
  const { minItems, maxItems } = rules;
  if (maxItems !== undefined && list.length > maxItems) violations.push(tooManyAt(placeText(place), list.length, maxItems));
  if (minItems !== undefined && list.length < minItems)
    violations.push(
      invalidAt(placeText(place), list.length, `${inBody(placeText(place))} should have at least ${minItems} items`),
    );
}

function checkObject(object: JsonObject, rules: ValueRules, place: Place | undefined, { violations, budget }: Checked): void {
  const { minProperties, maxProperties, required } = rules;
  if (minProperties !== undefined || maxProperties !== undefined) {
    const count = Object.keys(object).length;
    budget.take(count);
    if (maxProperties !== undefined && count > maxProperties) violations.push(tooManyAt(placeText(place), count, maxProperties));
    if (minProperties !== undefined && count < minProperties)
      violations.push(
        invalidAt(placeText(place), count, `${inBody(placeText(place))} should have at least ${minProperties} properties`),
      );
  }
  for (const name of required ?? [])
    if (!Object.hasOwn(object, name)) violations.push(requiredAt(placeText(member(place, name))));
}

/** Checks what a schema of allOf, anyOf, oneOf or not says of a value and of its parts. */
function checkNested(value: Json, rules: NestedRules, place: Place | undefined, budget: Budget): FieldViolation[] {
  budget.take(1);
  const violations: FieldViolation[] = [];
  if (rules.type !== undefined && !hasType(value, rules.type)) violations.push(wrongType(value, rules.type, place));
  violations.push(...checkRules(value, rules, place, budget));
  budget.take(Math.floor((rules.properties?.size ?? 0) / 20));
  if (isJsonObject(value))
    for (const [name, inner] of rules.properties ?? [])
      if (Object.hasOwn(value, name)) violations.push(...checkNested(value[name]!, inner, member(place, name), budget));
  if (Array.isArray(value) && rules.items !== undefined)
    for (const [at, item] of value.entries()) violations.push(...checkNested(item, rules.items, entry(place, at), budget));
  // Those of an alternative are made, and most are not reported.
  budget.take(10 * violations.length);
  return violations;
}

function checkAlternatives(value: Json, rules: ValueRules, place: Place | undefined, { violations, budget }: Checked): void {
  const results = (list: readonly NestedRules[]) => list.map((each) => checkNested(value, each, place, budget));
  const refuse = (why: string) => violations.push(invalidAt(placeText(place), value, `${quoted(placeText(place))} must ${why}`));
  if (rules.allOf !== undefined) {
    const found = results(rules.allOf).flat();
    if (found.length > 0) refuse('validate all the schemas (allOf)');
    violations.push(...found);
  }
  if (rules.anyOf !== undefined && !results(rules.anyOf).some(isEmpty)) refuse('validate at least one schema (anyOf)');
  if (rules.oneOf !== undefined) {
    const valid = results(rules.oneOf).filter(isEmpty).length;
    const found = valid === 0 ? 'Found none valid' : `Found ${valid} valid alternatives`;
    if (valid !== 1) refuse(`validate one and only one schema (oneOf). ${found}`);
  }
  if (rules.not !== undefined && isEmpty(checkNested(value, rules.not, place, budget))) refuse('not validate the schema (not)');
}

export function wrongType(value: Json, type: string, place: Place | undefined): FieldViolation {
  const path = placeText(place);
  return wrongTypeAt(path, shownType(value), `${inBody(path)} must be of type ${type}: ${quoted(shownType(value))}`);
}

function shownType(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value;
}

export function hasType(value: Json, type: string): boolean {
  switch (type) {
    case 'object':
      return isJsonObject(value);
    case 'array':
      return Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

/** Unicode code points, which is what lengths count. */
function characters(text: string): number {
  let count = text.length;
  for (let at = 1; at < text.length; at++)
    if ((text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800) count--;
  return count;
}

function isEmpty(list: readonly unknown[]): boolean {
  return list.length === 0;
}

function inBody(path: string): string {
  return path === '' ? 'the object in body' : `${path} in body`;
}

function quoted(text: string): string {
  return `"${text.length > 80 ? `${text.slice(0, 80)}...` : text}"`;
}
