import type { FieldViolation } from '../../api/errors/index.ts';
import type { Json, JsonObject } from '../../api/meta/merge-patch.ts';
import { PATTERN_CHARACTERS, PROGRAM_INSTRUCTIONS, programSize } from '../cel/patterns.ts';
import type { RuleCount } from './compiled-schema.ts';
import type { SchemaType } from './schema-node.ts';
import { forbiddenAt, invalidAt, unsupportedAt } from './schema-violations.ts';

/** Levels of a schema; deeper ones are refused, so that no walk over a schema or an object exhausts the stack. */
export const SCHEMA_LEVELS = 64;
/** Nodes of a schema, those within allOf, anyOf, oneOf and not counted. */
const SCHEMA_NODES = 20_000;
/** Instructions of all regular expressions of a schema: so many take some tenths of a second to compile. */
const SCHEMA_INSTRUCTIONS = 100_000;
/** Rules in CEL of a definition: each takes about a millisecond to compile. */
const DEFINITION_RULES = 500;

export const SCHEMA_TYPES: readonly SchemaType[] = ['object', 'array', 'string', 'integer', 'number', 'boolean'];

/** What a walk over a schema collects. Reading goes on after a violation, so that all are reported at once. */
export interface Reading {
  readonly violations: FieldViolation[];
  /** The schema was accepted before: what takes long to check is not checked again. */
  readonly isStored: boolean;
  nodes: number;
  /** Rules in CEL, also of the other versions of the definition. */
  readonly rules: RuleCount;
  hasTooManyRules?: boolean;
  /** Instructions of the regular expressions that were compiled, at most. */
  instructions: number;
}

/** Counts a regular expression; false, with a violation for the first one, where the schema has too many. */
export function admitPattern(path: string, pattern: string, reading: Reading): boolean {
  const before = reading.instructions;
  // One that is too large by itself is refused when it is compiled.
  reading.instructions += Math.min(programSize(pattern.slice(0, PATTERN_CHARACTERS)), PROGRAM_INSTRUCTIONS);
  if (before <= SCHEMA_INSTRUCTIONS && reading.instructions > SCHEMA_INSTRUCTIONS)
    reading.violations.push(
      forbiddenAt(path, `the patterns of the schema have more than ${SCHEMA_INSTRUCTIONS} instructions: make them simpler`),
    );
  return reading.instructions <= SCHEMA_INSTRUCTIONS;
}

/** Counts the rules of a level; false, with a violation, where the definition has too many. */
export function admitRules(path: string, more: number, reading: Reading): boolean {
  const { rules, isStored, violations } = reading;
  rules.count += more;
  if (isStored || rules.count <= DEFINITION_RULES) return true;
  if (!reading.hasTooManyRules)
    violations.push(
      forbiddenAt(path, `the definition has more than ${DEFINITION_RULES} rules, of all versions together: join some with &&`),
    );
  reading.hasTooManyRules = true;
  return false;
}

/** Counts a level; false, with a violation, where the schema is too large or too deep. */
export function admitNode(path: string, reading: Reading, level: number): boolean {
  if (++reading.nodes === SCHEMA_NODES + 1)
    reading.violations.push(forbiddenAt(path, `the schema has more than ${SCHEMA_NODES} levels and parts: make it smaller`));
  if (level > SCHEMA_LEVELS)
    reading.violations.push(
      forbiddenAt(path, `the schema is deeper than ${SCHEMA_LEVELS} levels: use x-kubernetes-preserve-unknown-fields here`),
    );
  return reading.nodes <= SCHEMA_NODES && level <= SCHEMA_LEVELS;
}

export function readType(json: JsonObject, path: string, reading: Reading): { type?: SchemaType } {
  if (json.type === undefined || json.type === '') return {};
  const type = SCHEMA_TYPES.find((each) => each === json.type);
  if (type === undefined) reading.violations.push(unsupportedAt(`${path}.type`, json.type, SCHEMA_TYPES));
  return type === undefined ? {} : { type };
}

export function readFlag(json: JsonObject, name: string, path: string, reading: Reading): boolean {
  const value = json[name];
  if (value === undefined || typeof value === 'boolean') return value === true;
  reading.violations.push(invalidAt(`${path}.${name}`, value, 'must be true or false'));
  return false;
}

export function readText<Name extends string>(
  json: JsonObject,
  name: Name,
  path: string,
  reading: Reading,
): Partial<Record<Name, string>> {
  const value = json[name];
  if (value === undefined) return {};
  if (typeof value === 'string') return { [name]: value } as Partial<Record<Name, string>>;
  reading.violations.push(invalidAt(`${path}.${name}`, value, 'must be a string'));
  return {};
}

export function isTextList(value: Json | undefined): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}
