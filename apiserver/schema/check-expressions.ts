import type { FieldViolation } from '../../api/errors/index.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { isJsonObject, type Json } from '../../api/meta/merge-patch.ts';
import { type Budget, BudgetExceeded } from '../cel/budget.ts';
import { CelError, celValue, ObjectView, Optional, resourceNode, type Value } from '../cel/values.ts';
import { schemaOfMember } from './defaults.ts';
import { entry, member, placeText } from './paths.ts';
import { blamedPlace, type RuleCode } from './rule-code.ts';
import type { SchemaNode } from './schema-node.ts';
import { duplicateAt, forbiddenAt, invalidAt, requiredAt } from './schema-violations.ts';
import { correspondingItems, type Judged, REPORTED_VIOLATIONS } from './validate.ts';

/** Steps that one rule may take on one value. */
export const RULE_STEPS = 500_000;
/** Characters of a message that an expression makes. */
const MESSAGE_CHARACTERS = 5120;

/** What the walk over an object needs. */
export interface RuleWalk {
  readonly root: SchemaNode;
  /** Steps of all rules on all values of the object. */
  readonly budget: Budget;
  readonly violations: FieldViolation[];
  /** The compiled rules of a level; undefined for one without. */
  rulesOf(node: SchemaNode): readonly RuleCode[] | undefined;
  /** Whether a level, or any below it, has rules. */
  hasRules(node: SchemaNode): boolean;
}

/** Judges a value and its parts by the rules (CEL) of the schema. Throws BudgetExceeded after a violation of it. */
export function checkExpressions(judged: Judged, walk: RuleWalk): void {
  const { value, node, place, before } = judged;
  if (value === null || !walk.hasRules(node) || walk.violations.length >= REPORTED_VIOLATIONS) return;
  for (const code of walk.rulesOf(node) ?? []) checkRule(code, judged, walk);
  if (isJsonObject(value)) {
    for (const name of Object.keys(value)) {
      const inner = schemaOfMember(node, name);
      if (inner === undefined) continue;
      const at = node.properties?.has(name) ? member(place, name) : entry(place, name);
      const old = isJsonObject(before) && Object.hasOwn(before, name) ? before[name] : undefined;
      checkExpressions({ value: value[name]!, node: inner, place: at, before: old }, walk);
    }
  } else if (Array.isArray(value) && node.items !== undefined) {
    const beforeOf = correspondingItems(node, before);
    for (const [at, item] of value.entries())
      checkExpressions({ value: item, node: node.items, place: entry(place, at), before: beforeOf(item) }, walk);
  }
}

function checkRule(code: RuleCode, judged: Judged, walk: RuleWalk): void {
  const { value, node, place, before } = judged;
  const { rule, condition, usesOldSelf } = code;
  const old = before === null ? undefined : before;
  if (usesOldSelf && old === undefined && rule.optionalOldSelf !== true) return;
  const refuse = (why: string) => {
    if (usesOldSelf || old === undefined || !equalValues(old, value)) walk.violations.push(violationOf(code, judged, why));
  };
  if (condition === undefined || code.why !== undefined) {
    refuse(`the rule of the stored schema cannot be evaluated: ${code.why}`);
    return;
  }
  const budget = walk.budget.part(RULE_STEPS, rule.rule);
  const steps = budget.left;
  const valueAt = (json: Json): Value =>
    node === walk.root && isJsonObject(json) ? new ObjectView(json, resourceNode(node)) : celValue(json, node, budget);
  try {
    const self = valueAt(value);
    const variables = {
      self,
      oldSelf: rule.optionalOldSelf ? optionalOf(old, valueAt) : old === undefined ? undefined : valueAt(old),
    };
    const result = condition.evaluate(variables, budget);
    if (result === false) refuse(messageOf(code, variables, budget));
    else if (result !== true) refuse(`the rule must give true or false: ${shortRule(rule.rule)}`);
  } catch (error) {
    if (error instanceof BudgetExceeded) {
      const why = `validation failed due to running out of cost budget (${steps} steps), no further validation rules will be run: simplify the rule, or bound lists, maps and strings in the schema: ${shortRule(rule.rule)}`;
      walk.violations.push(invalidAt(placeText(place), typeOf(value), why));
      throw error;
    }
    if (!(error instanceof CelError)) throw error;
    refuse(`${error.message} evaluating rule: ${rule.message ?? shortRule(rule.rule)}`);
  }
  walk.budget.take(steps - Math.max(0, budget.left));
}

function optionalOf(old: Json | undefined, valueAt: (json: Json) => Value): Optional {
  return old === undefined ? Optional.none : new Optional(valueAt(old));
}

/** The text of messageExpression; where that fails or is empty, the message; without one, the rule. */
function messageOf({ rule, message }: RuleCode, variables: Record<string, Value | undefined>, budget: Budget): string {
  const plain = rule.message ?? `failed rule: ${shortRule(rule.rule)}`;
  if (message === undefined) return plain;
  try {
    const text = message.evaluate(variables, budget);
    const isUsable = typeof text === 'string' && text.trim() !== '' && !/[\r\n]/.test(text) && text.length <= MESSAGE_CHARACTERS;
    return isUsable ? text : plain;
  } catch (error) {
    if (error instanceof CelError || error instanceof BudgetExceeded) return plain;
    throw error;
  }
}

function shortRule(rule: string): string {
  const line = rule.trim().replaceAll(/\s+/g, ' ');
  return line.length > 300 ? `${line.slice(0, 300)}...` : line;
}

function violationOf({ rule, fieldPath }: RuleCode, { value, place }: Judged, why: string): FieldViolation {
  const at = placeText(blamedPlace(place, fieldPath));
  switch (rule.reason) {
    case 'FieldValueForbidden':
      return forbiddenAt(at, why);
    case 'FieldValueRequired':
      return requiredAt(at, why);
    case 'FieldValueDuplicate':
      return duplicateAt(at, typeOf(value));
    default:
      return invalidAt(at, typeOf(value), why);
  }
}

/** Kubernetes names the type where a rule refuses a value. */
function typeOf(value: Json): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return value === null ? 'null' : typeof value;
}
