import type { FieldViolation } from '../../api/errors/index.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { isJsonObject, type Json } from '../../api/meta/merge-patch.ts';
import { Budget, BudgetExceeded } from '../cel/budget.ts';
import { applyDefaults, DEFAULT_VALUES } from './defaults.ts';
import { prune } from './prune.ts';
import { levelsOf } from './rule-code.ts';
import type { SchemaNode } from './schema-node.ts';
import { invalidAt } from './schema-violations.ts';

/** Values that all defaults of a schema may write, each once, while they are checked. */
const SCHEMA_DEFAULT_VALUES = 100_000;

export interface DefaultsCheck {
  /** Whether nothing at a level or below it is wrong: defaults of others cannot be judged. */
  isSound(path: string): boolean;
  judge(value: Json, node: SchemaNode): FieldViolation[];
}

/** Checks that every default is a value of its own schema: complete with the defaults within it, nothing unknown. */
export function checkDefaults(root: SchemaNode, path: string, { isSound, judge }: DefaultsCheck): FieldViolation[] {
  const violations: FieldViolation[] = [];
  const budget = new Budget(SCHEMA_DEFAULT_VALUES, 'defaults');
  for (const { node, path: at } of levelsOf(root, path)) {
    if (node.default === undefined || !isSound(at)) continue;
    const value = structuredClone(node.default);
    const unknown = unknownParts(value, node);
    if (unknown.length > 0) {
      violations.push(
        invalidAt(`${at}.default`, node.default, `must not have fields that the schema does not know: ${unknown.join(', ')}`),
      );
      continue;
    }
    if (!isCompleted(value, node, budget)) {
      const why = `must not write more than ${DEFAULT_VALUES} values together with the defaults within it: make it smaller`;
      violations.push(invalidAt(`${at}.default`, node.default, why));
      continue;
    }
    for (const { field, description } of judge(value, node).slice(0, 5))
      violations.push(
        invalidAt(`${at}.default`, node.default, `does not match its schema: ${field === '' ? '' : `${field}: `}${description}`),
      );
  }
  return violations;
}

/** Completes a default with those within it; false where these are too many, or those of the whole schema. */
function isCompleted(value: Json, node: SchemaNode, all: Budget): boolean {
  const budget = all.part(DEFAULT_VALUES, 'default');
  const values = budget.left;
  try {
    applyDefaults(value, node, budget);
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error;
    return false;
  }
  all.take(values - budget.left);
  return true;
}

/** What pruning would remove; a default that is a list is pruned like the only field of an object. */
function unknownParts(value: Json, node: SchemaNode): string[] {
  const holder: SchemaNode = {
    nullable: false,
    intOrString: false,
    preserveUnknownFields: false,
    embeddedResource: false,
    properties: new Map([['default', node]]),
  };
  const copy = { default: structuredClone(value) };
  const removed = isJsonObject(value) || Array.isArray(value) ? prune(copy, holder) : [];
  return removed.length > 0 && !equalValues(copy.default, value) ? removed : [];
}
