import type { FieldViolation } from '../../api/errors/index.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { isJsonObject, type Json } from '../../api/meta/merge-patch.ts';
import { applyDefaults } from './defaults.ts';
import { prune } from './prune.ts';
import { levelsOf } from './rule-code.ts';
import type { SchemaNode } from './schema-node.ts';
import { invalidAt } from './schema-violations.ts';

/** Checks that every default is a value of its own schema: complete with the defaults within it, nothing unknown. */
export function checkDefaults(
  root: SchemaNode,
  path: string,
  judge: (value: Json, node: SchemaNode) => FieldViolation[],
): FieldViolation[] {
  const violations: FieldViolation[] = [];
  for (const { node, path: at } of levelsOf(root, path)) {
    if (node.default === undefined) continue;
    const value = structuredClone(node.default);
    const unknown = unknownParts(value, node);
    if (unknown.length > 0) {
      violations.push(
        invalidAt(`${at}.default`, node.default, `must not have fields that the schema does not know: ${unknown.join(', ')}`),
      );
      continue;
    }
    applyDefaults(value, node);
    for (const { field, description } of judge(value, node).slice(0, 5))
      violations.push(
        invalidAt(`${at}.default`, node.default, `does not match its schema: ${field === '' ? '' : `${field}: `}${description}`),
      );
  }
  return violations;
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
