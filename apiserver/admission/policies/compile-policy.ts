import type { FieldViolation } from '../../../api/errors/index.ts';
import { invalidValue } from '../../../api/errors/violations.ts';
import type { MatchCondition, ValidatingAdmissionPolicy, ValidatingAdmissionPolicySpec } from '../../../api/generated/types.ts';
import {
  type Expression,
  type ExpressionCompiler,
  ExpressionError,
  expressionCompiler,
  type ObjectType,
} from '../../cel/environment.ts';
import { AUTHORIZER_TYPE } from '../../cel/functions/authorization.ts';
import type { SchemaTypes } from '../../cel/schema-types.ts';

/** A rule of a policy. */
export interface CompiledValidation {
  readonly expression: Expression;
  readonly message: string;
  readonly reason: string;
  readonly messageExpression: Expression | undefined;
}

/** An expression with its name. */
export interface Named {
  readonly name: string;
  readonly expression: Expression;
}

/** A policy that is ready to judge. */
export interface CompiledPolicy {
  readonly name: string;
  readonly fails: boolean;
  readonly matchConditions: readonly Named[];
  readonly variables: readonly Named[];
  readonly validations: readonly CompiledValidation[];
  readonly auditAnnotations: readonly Named[];
  /** What it weighs in the cache: the characters of its expressions. */
  readonly weight: number;
}

const SHARED = { object: 'dyn', oldObject: 'dyn', request: 'dyn', namespaceObject: 'dyn', authorizer: AUTHORIZER_TYPE } as const;
/** Types that a variable keeps where others use it; of anything else the values tell. */
const PLAIN_TYPES: ReadonlySet<string> = new Set(['bool', 'int', 'uint', 'double', 'string']);

/** Compiles expressions one by one and gathers what is wrong, each with its path. */
class Compiling {
  readonly violations: FieldViolation[] = [];
  weight = 0;

  /** `what` is the name of the expression, for people. An empty one is the validation's to refuse. */
  compile(
    compiler: ExpressionCompiler,
    { path, what }: { readonly path: string; readonly what: string },
    source: string,
    expected?: readonly string[],
  ): Expression | undefined {
    this.weight += source.length;
    if (source.trim() === '') return undefined;
    try {
      return compiler.compile(source, expected);
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      this.violations.push(invalidValue(path, source, `compilation failed: ${error.message}: correct ${what}`));
      return undefined;
    }
  }
}

/** Compiles a policy. What does not compile is among the violations, with its path and the name of the rule. */
export function compilePolicy({ metadata, spec = {} }: ValidatingAdmissionPolicy): {
  readonly policy: CompiledPolicy;
  readonly violations: readonly FieldViolation[];
} {
  const work = new Compiling();
  // Match conditions are judged before there are parameters and variables.
  const matchConditions = compileConditions(
    work,
    { path: 'spec.matchConditions', matchConditions: spec.matchConditions ?? [] },
    expressionCompiler({ variables: withParams(SHARED, spec) }),
  );
  const { variables, compiler } = compileVariables(work, spec);
  const validations = (spec.validations ?? []).flatMap((rule, i) => {
    const at = `spec.validations[${i}]`;
    const expression = work.compile(compiler, { path: `${at}.expression`, what: `rule ${i + 1}` }, rule.expression ?? '', [
      'bool',
    ]);
    const text = rule.messageExpression || undefined;
    const messageExpression = text && compileMessage(work, compiler, { path: at, what: `the message of rule ${i + 1}` }, text);
    const message = rule.message?.trim() || `failed expression: ${(rule.expression ?? '').trim()}`;
    const reason = rule.reason || 'Invalid';
    return expression ? [{ expression, message, reason, messageExpression: messageExpression || undefined }] : [];
  });
  const auditAnnotations = (spec.auditAnnotations ?? []).flatMap(({ key: name = '', valueExpression = '' }, i) => {
    const path = `spec.auditAnnotations[${i}].valueExpression`;
    const expression = work.compile(compiler, { path, what: `the audit annotation "${name}"` }, valueExpression, [
      'string',
      'null',
    ]);
    return expression ? [{ name, expression }] : [];
  });
  const policy: CompiledPolicy = {
    name: metadata?.name ?? '',
    fails: spec.failurePolicy !== 'Ignore',
    matchConditions,
    variables,
    validations,
    auditAnnotations,
    weight: work.weight,
  };
  return { policy, violations: work.violations };
}

/** As in Kubernetes a message does not ask what users may do. */
function compileMessage(
  work: Compiling,
  compiler: ExpressionCompiler,
  { path, what }: { readonly path: string; readonly what: string },
  text: string,
): Expression | undefined {
  const at = `${path}.messageExpression`;
  const expression = work.compile(compiler, { path: at, what }, text, ['string']);
  if (!expression?.uses('authorizer')) return expression;
  work.violations.push(invalidValue(at, text, `compilation failed: undeclared reference to 'authorizer': correct ${what}`));
  return undefined;
}

/** Compiles the match conditions of a webhook, which know no parameters, variables and namespaces. */
export function compileMatchConditions(
  path: string,
  matchConditions: readonly MatchCondition[],
): { readonly conditions: readonly Named[]; readonly violations: readonly FieldViolation[] } {
  const work = new Compiling();
  const { namespaceObject: _, ...variables } = SHARED;
  const compiler = expressionCompiler({ variables });
  const conditions = compileConditions(work, { path, matchConditions }, compiler);
  return { conditions, violations: work.violations };
}

function compileConditions(
  work: Compiling,
  { path, matchConditions }: { readonly path: string; readonly matchConditions: readonly MatchCondition[] },
  compiler: ExpressionCompiler,
): Named[] {
  return matchConditions.flatMap(({ name = '', expression: source = '' }, i) => {
    const where = { path: `${path}[${i}].expression`, what: `the match condition "${name}"` };
    const expression = work.compile(compiler, where, source, ['bool']);
    return expression ? [{ name, expression }] : [];
  });
}

/** Each variable may use those before it; the compiler that is given knows all of them. */
function compileVariables(
  work: Compiling,
  spec: ValidatingAdmissionPolicySpec,
  base: ExpressionCompiler = expressionCompiler({ variables: withParams(SHARED, spec) }),
): { variables: Named[]; compiler: ExpressionCompiler } {
  const fields: Record<string, string> = {};
  const compilerOf = (): ExpressionCompiler => {
    const types: ObjectType[] = [{ name: 'PolicyVariables', fields: { ...fields } }];
    return base.extend({ variables: { variables: 'PolicyVariables' }, types });
  };
  const variables: Named[] = [];
  let compiler = compilerOf();
  for (const [i, { name = '', expression: source = '' }] of (spec.variables ?? []).entries()) {
    const expression = work.compile(
      compiler,
      { path: `spec.variables[${i}].expression`, what: `the variable "${name}"` },
      source,
    );
    fields[name] = expression && PLAIN_TYPES.has(expression.type) ? expression.type : 'dyn';
    compiler = compilerOf();
    if (expression) variables.push({ name, expression });
  }
  return { variables, compiler };
}

function withParams<T extends object>(variables: T, { paramKind }: ValidatingAdmissionPolicySpec) {
  return paramKind ? { ...variables, params: 'dyn' } : { ...variables };
}

/** The types of a kind's objects, as far as they are known. */
export interface KnownTypes {
  readonly object: SchemaTypes;
  /** Absent: those of the parameters are not known. */
  readonly params?: SchemaTypes | undefined;
}

/**
 * Type errors in the validations of a policy and their messages, against the types of a kind, by the path of the
 * expression. As in Kubernetes, a variable that does not compile has any type and gives no error of its own.
 */
export function checkTypes(
  { spec = {} }: ValidatingAdmissionPolicy,
  { object, params }: KnownTypes,
): ReadonlyMap<string, string> {
  const variables = {
    ...withParams(SHARED, spec),
    ...{ object: object.type, oldObject: object.type },
    ...(params && { params: params.type }),
  };
  const types = new Map([...object.types, ...(params?.types ?? [])].map((each) => [each.name, each]));
  const base = expressionCompiler({ variables, types: [...types.values()] });
  const { compiler } = compileVariables(new Compiling(), spec, base);
  const found = new Map<string, string>();
  const check = (path: string, source: string | undefined): void => {
    if (!source) return;
    try {
      compiler.compile(source);
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      found.set(path, error.message);
    }
  };
  for (const [i, { expression, messageExpression }] of (spec.validations ?? []).entries()) {
    check(`spec.validations[${i}].expression`, expression);
    check(`spec.validations[${i}].messageExpression`, messageExpression);
  }
  return found;
}
