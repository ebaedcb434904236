import { isJsonObject, type Json, type JsonObject } from '../../api/meta/merge-patch.ts';
import { admitRules, isTextList, type Reading, readFlag } from './reading.ts';
import type { ListType, MapType, SchemaNode, ValidationRule } from './schema-node.ts';
import { forbiddenAt, invalidAt, requiredAt, unsupportedAt } from './schema-violations.ts';

const LIST_TYPES: readonly ListType[] = ['atomic', 'set', 'map'];
const MAP_TYPES: readonly MapType[] = ['atomic', 'granular'];
const KNOWN = new Set(
  ['int-or-string', 'preserve-unknown-fields', 'embedded-resource', 'list-type', 'list-map-keys', 'map-type', 'validations'].map(
    (name) => `x-kubernetes-${name}`,
  ),
);
/** Rules at one level. */
const RULES = 100;
/** What a rule's `reason` may be: Kubernetes', which become the reason of the violation. */
export const RULE_REASONS = ['FieldValueInvalid', 'FieldValueForbidden', 'FieldValueRequired', 'FieldValueDuplicate'] as const;
const MESSAGE_CHARACTERS = 2048;

type Extensions = Pick<
  SchemaNode,
  'intOrString' | 'preserveUnknownFields' | 'embeddedResource' | 'listType' | 'listMapKeys' | 'mapType' | 'validations'
>;

/** Reads the keywords that start with "x-kubernetes-". */
export function readExtensions(json: JsonObject, path: string, reading: Reading): Extensions {
  for (const name of Object.keys(json))
    if (name.startsWith('x-kubernetes-') && !KNOWN.has(name))
      reading.violations.push(forbiddenAt(`${path}.${name}`, 'unknown keyword of a schema: remove it'));
  if (json['x-kubernetes-preserve-unknown-fields'] === false)
    reading.violations.push(invalidAt(`${path}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined'));
  return {
    intOrString: readFlag(json, 'x-kubernetes-int-or-string', path, reading),
    preserveUnknownFields: readFlag(json, 'x-kubernetes-preserve-unknown-fields', path, reading),
    embeddedResource: readFlag(json, 'x-kubernetes-embedded-resource', path, reading),
    ...readChoice(json, 'x-kubernetes-list-type', LIST_TYPES, { key: 'listType', path, reading }),
    ...readChoice(json, 'x-kubernetes-map-type', MAP_TYPES, { key: 'mapType', path, reading }),
    ...readMapKeys(json, path, reading),
    ...readRules(json, path, reading),
  };
}

interface Choice {
  readonly key: 'listType' | 'mapType';
  readonly path: string;
  readonly reading: Reading;
}

function readChoice(
  json: JsonObject,
  name: string,
  choices: readonly string[],
  { key, path, reading }: Choice,
): Partial<Extensions> {
  const value = json[name];
  if (value === undefined) return {};
  if (typeof value === 'string' && choices.includes(value)) return { [key]: value };
  reading.violations.push(unsupportedAt(`${path}.${name}`, value, choices));
  return {};
}

function readMapKeys(json: JsonObject, path: string, reading: Reading): Pick<SchemaNode, 'listMapKeys'> {
  const keys = json['x-kubernetes-list-map-keys'];
  if (keys === undefined) return {};
  if (isTextList(keys)) return { listMapKeys: keys };
  reading.violations.push(invalidAt(`${path}.x-kubernetes-list-map-keys`, keys, 'must be a list of names of properties'));
  return {};
}

function readRules(json: JsonObject, path: string, reading: Reading): Pick<SchemaNode, 'validations'> {
  const list = json['x-kubernetes-validations'];
  if (list === undefined) return {};
  const at = `${path}.x-kubernetes-validations`;
  if (!Array.isArray(list) || list.length > RULES) {
    reading.violations.push(invalidAt(at, list, `must be a list of at most ${RULES} rules`));
    return {};
  }
  if (!admitRules(at, list.length, reading)) return {};
  const validations = list.flatMap((each, index) => readRule(each, `${at}[${index}]`, reading) ?? []);
  return validations.length === 0 ? {} : { validations };
}

const RULE_TEXTS = ['rule', 'message', 'messageExpression', 'reason', 'fieldPath'] as const;

function readRule(json: Json, path: string, reading: Reading): ValidationRule | undefined {
  const before = reading.violations.length;
  if (!isJsonObject(json)) {
    reading.violations.push(invalidAt(path, json, 'must be an object with a rule'));
    return undefined;
  }
  for (const [name, value] of Object.entries(json)) {
    const at = `${path}.${name}`;
    if (name === 'optionalOldSelf') readFlag(json, name, path, reading);
    else if (!RULE_TEXTS.some((known) => known === name)) reading.violations.push(forbiddenAt(at, 'unknown field of a rule'));
    else if (typeof value !== 'string') reading.violations.push(invalidAt(at, value, 'must be a string'));
  }
  if (reading.violations.length > before) return undefined;
  const rule = json as unknown as ValidationRule;
  checkRule(rule, path, reading);
  return reading.violations.length > before ? undefined : rule;
}

function checkRule(rule: ValidationRule, path: string, { violations }: Reading): void {
  if (rule.rule === undefined || rule.rule.trim() === '') violations.push(requiredAt(`${path}.rule`, 'rule is not specified'));
  const { message, reason } = rule;
  if (message !== undefined) {
    const at = `${path}.message`;
    if (message.trim() === '') violations.push(invalidAt(at, message, 'message must be non-empty if specified'));
    else if (/[\r\n]/.test(message)) violations.push(invalidAt(at, message, 'message must not contain line breaks'));
    else if (message.length > MESSAGE_CHARACTERS)
      violations.push(invalidAt(at, message, `message must have a maximum length of ${MESSAGE_CHARACTERS} characters`));
  } else if (rule.rule !== undefined && /[\r\n]/.test(rule.rule.trim()) && rule.messageExpression === undefined)
    violations.push(requiredAt(`${path}.message`, 'message must be specified if rule contains line breaks'));
  if (rule.messageExpression !== undefined && rule.messageExpression.trim() === '')
    violations.push(requiredAt(`${path}.messageExpression`, 'must be non-empty if specified'));
  if (reason !== undefined && !RULE_REASONS.some((known) => known === reason))
    violations.push(unsupportedAt(`${path}.reason`, reason, RULE_REASONS));
}
