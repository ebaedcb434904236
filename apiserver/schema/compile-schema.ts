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
import { checkValue, REPORTED_VIOLATIONS } from './validate.ts';

/**
 * Steps of the checks of one object, rules apart: values looked at, and the work of regular expressions. Kubernetes'
 * cost budget of an object is ten times as large; a million steps take about 0.1 s, and nothing else is served then.
 */
const OBJECT_STEPS = 1_000_000;
/** Steps of all rules (CEL) on all values of one object. */
const RULES_STEPS = 1_000_000;

/**
 * Compiles the schema of one version of a custom kind. Either it is structural, and all of its defaults, patterns and
 * rules hold, or the violations say where in the definition something is wrong, and what to do.
 */
export function compileSchema(json: Json | undefined, options: SchemaOptions): SchemaResult {
  const { isStored = false, rules: count = { count: 0 } } = options;
  const reading: Reading = { violations: [], nodes: 0, isStored, rules: count, instructions: 0 };
  const root = readNode(json, options.path, reading);
  const { violations } = reading;
  if (violations.length === 0) violations.push(...checkStructure(root, options.path));
  if (violations.length > 0) return { violations: violations.slice(0, REPORTED_VIOLATIONS) };
  const rules = new Rules(root, options.path);
  const schema = compiledSchema(root, rules);
  if (!reading.isStored) {
    violations.push(...rules.compileAll());
    if (violations.length === 0)
      violations.push(...checkDefaults(root, options.path, (value, node) => judge(value, node, rules)));
  }
  return violations.length > 0 ? { violations: violations.slice(0, REPORTED_VIOLATIONS) } : { schema };
}

function compiledSchema(root: SchemaNode, rules: Rules): CompiledSchema {
  return {
    root,
    applyDefaults: (object: JsonObject) => setDefaults(object, root),
    prune: (object: JsonObject) => prune(object, root),
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

  compileAll(): FieldViolation[] {
    const violations: FieldViolation[] = [];
    for (const level of this.#withRules().values()) this.#compiled.set(level.node, compileRules(level, violations));
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
