import type { FieldViolation } from '../../api/errors/index.ts';
import { type Expression, ExpressionError, expressionCompiler } from '../cel/environment.ts';
import { schemaTypes } from '../cel/schema-types.ts';
import { schemaOfMember } from './defaults.ts';
import { entry, member, type Place } from './paths.ts';
import type { SchemaNode, ValidationRule } from './schema-node.ts';
import { forbiddenAt, invalidAt } from './schema-violations.ts';

/** A rule of x-kubernetes-validations, ready to judge. */
export interface RuleCode {
  readonly rule: ValidationRule;
  /** Undefined for a stored rule that no longer compiles: `why` says so, and every object breaks it. */
  readonly condition: Expression | undefined;
  readonly why?: string;
  readonly message: Expression | undefined;
  readonly usesOldSelf: boolean;
  /** The steps from the value to the field that the rule blames, outermost first. */
  readonly fieldPath: readonly FieldStep[];
}

interface FieldStep {
  readonly name: string;
  readonly isKey: boolean;
}

export interface RuleLevel {
  readonly node: SchemaNode;
  /** Where the level stands in the definition. */
  readonly path: string;
  /** The level is the object itself. */
  readonly isRoot: boolean;
  /** An update has an old value for it: it is no part of an item of a list that is no map. */
  readonly isCorrelatable: boolean;
}

/** Compiles the rules of one level. What is wrong with them goes to `violations`. */
export function compileRules({ node, path, isRoot, isCorrelatable }: RuleLevel, violations: FieldViolation[]): RuleCode[] {
  const { type, types } = schemaTypes(node, isRoot);
  const plain = expressionCompiler({ variables: { self: type, oldSelf: type }, types });
  const optional = () => expressionCompiler({ variables: { self: type, oldSelf: `optional<${type}>` }, types });
  return (node.validations ?? []).map((rule, at) => {
    const where = `${path}.x-kubernetes-validations[${at}]`;
    const compiler = rule.optionalOldSelf ? optional() : plain;
    const refused: FieldViolation[] = [];
    const compile = (source: string, field: string, expected: string) => {
      try {
        return compiler.compile(source, [expected]);
      } catch (error) {
        if (!(error instanceof ExpressionError)) throw error;
        refused.push(invalidAt(`${where}.${field}`, source, `compilation failed: ${error.message}`));
        return undefined;
      }
    };
    const condition = compile(rule.rule, 'rule', 'bool');
    const message =
      rule.messageExpression === undefined ? undefined : compile(rule.messageExpression, 'messageExpression', 'string');
    const usesOldSelf = condition?.uses('oldSelf') === true;
    if (usesOldSelf && !isCorrelatable)
      refused.push(
        invalidAt(
          `${where}.rule`,
          rule.rule,
          'oldSelf cannot be used on the uncorrelatable portion of the schema: items of a list that is no map',
        ),
      );
    if (condition !== undefined && rule.optionalOldSelf && !usesOldSelf)
      refused.push(forbiddenAt(`${where}.optionalOldSelf`, 'may not be set if oldSelf is not used in the rule'));
    const fieldPath = readFieldPath(node, rule.fieldPath, `${where}.fieldPath`, refused);
    violations.push(...refused);
    const why = refused[0]?.description;
    return { rule, condition, message, usesOldSelf, fieldPath, ...(why !== undefined && { why }) };
  });
}

/** Reads ".spec.ports" or "['with-dash'].x", whose parts must be properties or keys of maps. */
function readFieldPath(node: SchemaNode, text: string | undefined, path: string, refused: FieldViolation[]): FieldStep[] {
  const steps: FieldStep[] = [];
  if (text === undefined || text === '') return steps;
  const token = /\.([A-Za-z_][A-Za-z0-9_-]*)|\['([^']+)'\]/y;
  let at: SchemaNode | undefined = node;
  for (let end = 0; end < text.length; end = token.lastIndex) {
    token.lastIndex = end;
    const found = token.exec(text);
    const name = found?.[1] ?? found?.[2];
    at = name === undefined || at === undefined ? undefined : schemaOfMember(at, name);
    if (name === undefined || at === undefined) {
      const why = `does not refer to a valid field: write it as ".spec.replicas" or "['with-dash']", from where the rule stands`;
      refused.push(invalidAt(path, text, why));
      return [];
    }
    steps.push({ name, isKey: found?.[1] === undefined });
  }
  return steps;
}

/** The place that a rule blames. */
export function blamedPlace(place: Place | undefined, steps: readonly FieldStep[]): Place | undefined {
  return steps.reduce<Place | undefined>((at, { name, isKey }) => (isKey ? entry(at, name) : member(at, name)), place);
}

/** Visits every level of a schema, the outermost first. */
export function* levelsOf(root: SchemaNode, path: string): Generator<RuleLevel> {
  yield* levelsBelow({ node: root, path, isRoot: true, isCorrelatable: true });
}

function* levelsBelow(level: RuleLevel): Generator<RuleLevel> {
  yield level;
  const { node, path, isCorrelatable } = level;
  for (const [name, inner] of node.properties ?? [])
    yield* levelsBelow({ node: inner, path: `${path}.properties[${name}]`, isRoot: false, isCorrelatable });
  const { additionalProperties: values, items } = node;
  if (values !== undefined && values !== true)
    yield* levelsBelow({ node: values, path: `${path}.additionalProperties`, isRoot: false, isCorrelatable });
  if (items !== undefined)
    yield* levelsBelow({
      node: items,
      path: `${path}.items`,
      isRoot: false,
      isCorrelatable: isCorrelatable && node.listType === 'map',
    });
}
