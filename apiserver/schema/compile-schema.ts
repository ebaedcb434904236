import type { FieldViolation } from '../../api/errors/index.ts';
import type { Json, JsonObject } from '../../api/meta/merge-patch.ts';
import { Budget, BudgetExceeded } from '../cel/budget.ts';
import { checkDefaults } from './check-defaults.ts';
import { checkExpressions } from './check-expressions.ts';
import type { CompiledSchema, SchemaOptions, SchemaResult } from './compiled-schema.ts';
import { applyDefaults, DEFAULT_VALUES } from './defaults.ts';
import { prune } from './prune.ts';
import { readNode } from './read-schema.ts';
import type { Reading } from './reading.ts';
import { compileRules, levelsOf, type RuleCode, type RuleLevel } from './rule-code.ts';
import type { SchemaNode } from './schema-node.ts';
import { invalidAt } from './schema-violations.ts';
import { checkStructure } from './structural-rules.ts';
import { checkValue, REPORTED_VIOLATIONS, unkeptNumbers } from './validate.ts';

/**
 * Steps of the checks of one object, rules apart: values looked at, and the work of regular expressions. Kubernetes'
 * cost budget of an object is ten times as large; a million steps take about 0.1 s, and nothing else is served then.
 */
const OBJECT_STEPS = 1_000_000;
/** Steps of all rules (CEL) on all values of one object. */
const RULES_STEPS = 1_000_000;

/**
 * Compiles the schema of one version of a custom kind. Either it is structural, and all of its defaults, patterns and
 * rules hold, or the violations say where in the definition something is wrong, and what to do: all mistakes at once,
 * but for those that another one may have caused.
 */
export function compileSchema(json: Json | undefined, options: SchemaOptions): SchemaResult {
  const { isStored = false, rules: count = { count: 0 } } = options;
  const reading: Reading = { violations: [], nodes: 0, isStored, rules: count, instructions: 0 };
  const root = readNode(json, options.path, reading);
  const { violations } = reading;
  // Each mistake that follows is compared with all of these.
  if (violations.length >= REPORTED_VIOLATIONS) return { violations: violations.slice(0, REPORTED_VIOLATIONS) };
  const misread = violations.map(({ field }) => field);
  violations.push(...checkStructure(root, options.path).filter(({ field }) => !isFollowUp(field, misread)));
  const rules = new Rules(root, options.path);
  if (!isStored) {
    if (violations.length < REPORTED_VIOLATIONS) violations.push(...rules.compileAll(misread));
    if (violations.length < REPORTED_VIOLATIONS) {
      const wrong = violations.map(({ field }) => field);
      const isSound = (path: string): boolean => !wrong.some((field) => isWithin(field, path));
      violations.push(...checkDefaults(root, options.path, { isSound, judge: (value, node) => judge(value, node, rules) }));
    }
  }
  return violations.length > 0
    ? { violations: violations.slice(0, REPORTED_VIOLATIONS) }
    : { schema: compiledSchema(root, rules) };
}

/** Whether a path of the definition is another one, or below it. */
function isWithin(path: string, other: string): boolean {
  return path.startsWith(other) && [undefined, '.', '['].includes(path[other.length]);
}

const EXTENSION = /\.x-kubernetes-[^.]*$/;

/** Whether the structure is wrong only because a part of it, or an extension of that level, could not be read. */
function isFollowUp(field: string, misread: readonly string[]): boolean {
  const level = field.replace(/\.[^.]*$/, '');
  return misread.some((wrong) => isWithin(field, wrong) || (EXTENSION.test(wrong) && wrong.replace(EXTENSION, '') === level));
}

/** Parts without which fields are missing, or lists of maps are plain ones. Other levels without a type are `dyn`. */
const SHAPING =
  /\.(properties|additionalProperties|patternProperties|\$ref|x-kubernetes-(embedded-resource|list-type|list-map-keys))$/;

function compiledSchema(root: SchemaNode, rules: Rules): CompiledSchema {
  return {
    root,
    applyDefaults: (object: JsonObject) => setDefaults(object, root),
    prune: (object: JsonObject) => prune(object, root),
    unkeptNumbers: (object: JsonObject) => unkeptNumbers(object, root),
    validate: (object: JsonObject, before?: JsonObject) => judge(object, root, rules, before),
  };
}

function setDefaults(object: JsonObject, root: SchemaNode): FieldViolation[] {
  try {
    applyDefaults(object, root);
    return [];
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error;
    const why = `the defaults of the schema write more than ${DEFAULT_VALUES} values into the object: give it fewer items`;
    return [invalidAt('', 'object', why)];
  }
}

/** Violations after which rules are not run: they rely on what the schema says. */
const BLOCKING = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

function judge(value: Json, node: SchemaNode, rules: Rules, before?: Json): FieldViolation[] {
  const judged = { value, node, place: undefined, before };
  const violations: FieldViolation[] = [];
  try {
    violations.push(...checkValue(judged, new Budget(OBJECT_STEPS, 'schema')));
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error;
    const why = `checking the object takes more than ${OBJECT_STEPS} steps: make it smaller, or bound lists and texts in the schema`;
    return [invalidAt('', typeof value, why)];
  }
  if (!rules.hasRules(node)) return violations.slice(0, REPORTED_VIOLATIONS);
  if (violations.some(({ reason }) => BLOCKING.has(reason))) {
    const why =
      'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';
    return [...violations.slice(0, REPORTED_VIOLATIONS), invalidAt('', null, why)];
  }
  try {
    checkExpressions(judged, rules.walk(new Budget(RULES_STEPS, 'rules'), violations));
  } catch (error) {
    // The walk has said so.
    if (!(error instanceof BudgetExceeded)) throw error;
  }
  return violations.slice(0, REPORTED_VIOLATIONS);
}

/** The rules of all levels of a schema, compiled when the first value is judged by them. */
class Rules {
  readonly #root: SchemaNode;
  readonly #path: string;
  readonly #compiled = new Map<SchemaNode, readonly RuleCode[]>();
  /** Levels that have rules, themselves or below; found when they are first asked for. */
  #levels: Map<SchemaNode, RuleLevel> | undefined;
  #above: Set<SchemaNode> | undefined;

  constructor(root: SchemaNode, path: string) {
    this.#root = root;
    this.#path = path;
  }

  /** Leaves out the levels that parts of the schema that could not be read would make wrong, too. */
  compileAll(misread: readonly string[]): FieldViolation[] {
    const violations: FieldViolation[] = [];
    const shaping = misread.filter((field) => SHAPING.test(field));
    for (const level of this.#withRules().values()) {
      const isUnsure = shaping.some((field) => isWithin(field, level.path) || isWithin(level.path, field.replace(EXTENSION, '')));
      if (!isUnsure) this.#compiled.set(level.node, compileRules(level, violations));
    }
    return violations;
  }

  hasRules(node: SchemaNode): boolean {
    this.#above ??= this.#findAbove();
    return this.#above.has(node);
  }

  walk(budget: Budget, violations: FieldViolation[]) {
    return {
      root: this.#root,
      budget,
      violations,
      rulesOf: (node: SchemaNode) => this.#rulesOf(node),
      hasRules: (node: SchemaNode) => this.hasRules(node),
    };
  }

  #withRules(): Map<SchemaNode, RuleLevel> {
    if (this.#levels === undefined) {
      this.#levels = new Map();
      for (const level of levelsOf(this.#root, this.#path))
        if (level.node.validations !== undefined) this.#levels.set(level.node, level);
    }
    return this.#levels;
  }

  #findAbove(): Set<SchemaNode> {
    const above = new Set<SchemaNode>();
    const withRules = this.#withRules();
    const visit = (node: SchemaNode): boolean => {
      const { additionalProperties: values, items } = node;
      const inner = [...(node.properties?.values() ?? []), ...(values !== undefined && values !== true ? [values] : [])];
      if (items !== undefined) inner.push(items);
      const has = inner.filter(visit).length > 0 || withRules.has(node);
      if (has) above.add(node);
      return has;
    };
    if (withRules.size > 0) visit(this.#root);
    return above;
  }

  #rulesOf(node: SchemaNode): readonly RuleCode[] | undefined {
    const level = this.#withRules().get(node);
    if (level === undefined) return undefined;
    let rules = this.#compiled.get(node);
    if (rules === undefined) {
      rules = compileRules(level, []);
      this.#compiled.set(node, rules);
    }
    return rules;
  }
}
