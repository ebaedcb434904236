import { isJsonObject, type Json, type JsonObject } from '../../api/meta/merge-patch.ts';
import { compilePattern } from '../cel/patterns.ts';
import { admitNode, admitPattern, isTextList, type Reading, readFlag, readText, readType } from './reading.ts';
import type { NestedRules, SchemaNode, ValueRules } from './schema-node.ts';
import { forbiddenAt, invalidAt } from './schema-violations.ts';

/** Items of an enumeration. */
const ENUM_ITEMS = 1000;
/** Schemas in one allOf, anyOf or oneOf. */
const ALTERNATIVES = 100;

const NUMBERS = ['minimum', 'maximum', 'multipleOf'] as const;
const COUNTS = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'] as const;

/** Reads the keywords about values, which levels of the structure and the schemas of allOf, anyOf, oneOf, not have. */
export function readValueRules(json: JsonObject, path: string, reading: Reading, level: number): ValueRules {
  return {
    ...readNumbers(json, path, reading),
    ...readText(json, 'format', path, reading),
    ...readPattern(json, path, reading),
    ...readLists(json, path, reading),
    ...refuseUniqueItems(json, path, reading),
    ...readAlternatives(json, path, reading, level),
    ...(json.not !== undefined && { not: readNested(json.not, `${path}.not`, reading, level + 1) }),
  };
}

function readNumbers(json: JsonObject, path: string, reading: Reading): ValueRules {
  const rules: Record<string, number | boolean> = {};
  for (const name of NUMBERS) {
    const value = json[name];
    if (value === undefined) continue;
    if (typeof value !== 'number') reading.violations.push(invalidAt(`${path}.${name}`, value, 'must be a number'));
    else if (name === 'multipleOf' && value <= 0)
      reading.violations.push(invalidAt(`${path}.${name}`, value, 'must be greater than 0'));
    else rules[name] = value;
  }
  for (const name of COUNTS) {
    const value = json[name];
    if (value === undefined) continue;
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 0)
      reading.violations.push(invalidAt(`${path}.${name}`, value, 'must be a whole number of 0 or more'));
    else rules[name] = value;
  }
  for (const name of ['exclusiveMinimum', 'exclusiveMaximum'])
    if (json[name] !== undefined && readFlag(json, name, path, reading)) rules[name] = true;
  return rules;
}

function readPattern(json: JsonObject, path: string, reading: Reading): ValueRules {
  const { pattern } = readText(json, 'pattern', path, reading);
  if (pattern === undefined || pattern === '') return {};
  if (!reading.isStored) {
    try {
      if (admitPattern(`${path}.pattern`, pattern, reading)) compilePattern(pattern);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      const why = `must be a valid regular expression, but isn't: ${error.message}`;
      reading.violations.push(invalidAt(`${path}.pattern`, pattern, why));
    }
  }
  return { pattern };
}

function readLists(json: JsonObject, path: string, reading: Reading): ValueRules {
  const rules: { required?: string[]; enum?: Json[] } = {};
  const { required, enum: choices } = json;
  if (required !== undefined) {
    if (isTextList(required)) rules.required = required;
    else reading.violations.push(invalidAt(`${path}.required`, required, 'must be a list of names of properties'));
  }
  if (choices !== undefined) {
    if (Array.isArray(choices) && choices.length > 0 && choices.length <= ENUM_ITEMS) rules.enum = choices;
    else reading.violations.push(invalidAt(`${path}.enum`, choices, `must be a list of 1 to ${ENUM_ITEMS} values`));
  }
  return rules;
}

function refuseUniqueItems(json: JsonObject, path: string, reading: Reading): ValueRules {
  if (json.uniqueItems !== undefined && readFlag(json, 'uniqueItems', path, reading)) {
    const why =
      'uniqueItems cannot be set to true since the runtime complexity becomes quadratic: use x-kubernetes-list-type: set';
    reading.violations.push(forbiddenAt(`${path}.uniqueItems`, why));
  }
  return {};
}

function readAlternatives(json: JsonObject, path: string, reading: Reading, level: number): ValueRules {
  const rules: Record<string, NestedRules[]> = {};
  for (const name of ['allOf', 'anyOf', 'oneOf']) {
    const list = json[name];
    if (list === undefined) continue;
    if (!Array.isArray(list) || list.length === 0 || list.length > ALTERNATIVES) {
      reading.violations.push(invalidAt(`${path}.${name}`, list, `must be a list of 1 to ${ALTERNATIVES} schemas`));
      continue;
    }
    rules[name] = list.map((each, at) => readNested(each, `${path}.${name}[${at}]`, reading, level + 1));
  }
  return rules;
}

/** What stands only in the structure: a schema within allOf and so on neither types nor completes nor prunes. */
const STRUCTURE_ONLY = ['title', 'description', 'default', 'nullable', 'additionalProperties'];
const NESTED = new Set(
  (
    'enum minimum exclusiveMinimum maximum exclusiveMaximum multipleOf minLength maxLength pattern format minItems maxItems ' +
    'uniqueItems minProperties maxProperties required allOf anyOf oneOf not type properties items'
  ).split(' '),
);

function readNested(json: Json, path: string, reading: Reading, level: number): NestedRules {
  if (!isJsonObject(json)) {
    reading.violations.push(invalidAt(path, json, 'must be a schema: an object'));
    return {};
  }
  if (!admitNode(path, reading, level)) return {};
  for (const name of Object.keys(json)) {
    if (STRUCTURE_ONLY.includes(name) || name.startsWith('x-kubernetes-'))
      reading.violations.push(
        forbiddenAt(`${path}.${name}`, 'must be empty to be structural: move it out of allOf, anyOf, oneOf, not'),
      );
    else if (!NESTED.has(name)) reading.violations.push(forbiddenAt(`${path}.${name}`, 'unknown keyword of a schema: remove it'));
  }
  return {
    ...readType(json, path, reading),
    ...readNestedProperties(json, path, reading, level),
    ...(json.items !== undefined && { items: readNested(json.items, `${path}.items`, reading, level + 1) }),
    ...readValueRules(json, path, reading, level),
  };
}

function readNestedProperties(json: JsonObject, path: string, reading: Reading, level: number): Pick<NestedRules, 'properties'> {
  const { properties } = json;
  if (properties === undefined) return {};
  if (!isJsonObject(properties)) {
    reading.violations.push(invalidAt(`${path}.properties`, properties, 'must be an object: a schema for each name'));
    return {};
  }
  const entries = Object.entries(properties);
  return {
    properties: new Map(
      entries.map(([name, inner]) => [name, readNested(inner, `${path}.properties[${name}]`, reading, level + 1)]),
    ),
  };
}

/** Whether `anyOf` or the first of `allOf` says again what x-kubernetes-int-or-string says, as generators write it. */
export function saysIntOrString(node: SchemaNode): boolean {
  const list = node.anyOf ?? node.allOf?.[0]?.anyOf;
  return list?.length === 2 && list[0]?.type === 'integer' && list[1]?.type === 'string';
}
