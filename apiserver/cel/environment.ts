import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import type { Budget } from './budget.ts';
import { compileNode } from './code.ts';
import { Scope, UnsupportedExpression } from './frame.ts';
import { LIBRARIES } from './functions/index.ts';
import { checkHasFully, MACRO_SIGNATURES, nodesOf } from './macro-types.ts';
import { compilePattern } from './patterns.ts';
import type { Value } from './values.ts';

/** Characters of an expression. */
export const EXPRESSION_CHARACTERS = 16_384;
/** How deep an expression may be nested, and of how many parts it may consist. */
const EXPRESSION_LEVELS = 64;
const EXPRESSION_NODES = 2000;

/** An object type with its fields; names of types are those of CEL, or of other object types. */
export interface ObjectType {
  readonly name: string;
  readonly fields: Readonly<Record<string, string>>;
}

/**
 * What expressions of one place may use: variables by name, with their types, and the object types among those. For
 * rules of a custom kind `self` and `oldSelf`; for an admission policy `object`, `oldObject`, `request`, `params` and
 * `variables`, of type dyn where no schema is known.
 */
export interface Declarations {
  readonly variables: Readonly<Record<string, string>>;
  readonly types?: readonly ObjectType[];
}

/** An expression that was parsed, checked and compiled. Pure, and safe to keep. */
export interface Expression {
  readonly source: string;
  /** Its type by the check: "bool", "string", "dyn". */
  readonly type: string;
  /** Whether it names the variable. */
  uses(variable: string): boolean;
  /** Throws CelError where the expression fails, BudgetExceeded where it takes too many steps. */
  evaluate(variables: Readonly<Record<string, Value | undefined>>, budget: Budget): Value;
}

/** An expression does not compile; the message is a clause that says why. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
}

/** Compiles expressions over the same declarations. */
export interface ExpressionCompiler {
  /** One that knows more, beside all that this one knows. */
  extend(more: Declarations): ExpressionCompiler;
  /**
   * Throws ExpressionError unless the expression compiles and its type is among the expected ones, or dyn; absent: any.
   */
  compile(source: string, expected?: readonly string[]): Expression;
}

let shared: Environment | undefined;

/** The parser with the signatures of all libraries; made when the first expression is compiled. */
function baseEnvironment(): Environment {
  if (shared !== undefined) return shared;
  const limits = { maxDepth: EXPRESSION_LEVELS, maxAstNodes: EXPRESSION_NODES };
  // Kubernetes excepts the list of format(); this parser has no exceptions, so all lists may have items of any type.
  const options = { enableOptionalTypes: true, homogeneousAggregateLiterals: false, limits };
  const environment = new Environment(options);
  for (const { types = {}, fields = {}, namespaces = [] } of LIBRARIES) {
    for (const [name, ctor] of Object.entries(types)) {
      const known = fields[name];
      if (known) environment.registerType({ name, fields: { ...known }, ctor } as never);
      else environment.registerType(name, ctor as never);
      environment.registerOperator(`${name} == ${name}`, unused);
    }
    for (const name of namespaces) registerNamespace(environment, name);
  }
  for (const { signatures } of LIBRARIES)
    for (const signature of signatures) if (!isKnown(signature)) environment.registerFunction(signature, unused);
  for (const [signature, handler] of MACRO_SIGNATURES) environment.registerFunction(signature, handler as never);
  shared = environment;
  return environment;
}

/** The parser has it, with a function that this server never calls: its regular expressions are not of linear time. */
function isKnown(signature: string): boolean {
  return signature === 'string.matches(string): bool';
}

function unused(): never {
  throw new Error('the parser evaluates nothing');
}

function registerNamespace(environment: Environment, name: string): void {
  const type = `${name[0]!.toUpperCase()}${name.slice(1)}Namespace`;
  const Namespace = class {};
  environment.registerType(type, Namespace as never);
  environment.registerConstant(name, type, new Namespace());
}

export function expressionCompiler(declared: Declarations): ExpressionCompiler {
  return compilerIn(baseEnvironment(), [], declared);
}

function compilerIn(base: Environment, known: readonly string[], { variables, types = [] }: Declarations): ExpressionCompiler {
  const environment = base.clone();
  for (const { name, fields } of types) {
    environment.registerType({ name, fields: { ...fields }, ctor: class {} } as never);
    // As with messages of protobuf: an object may be null.
    for (const other of [name, 'null']) environment.registerOperator(`${name} == ${other}`, unused);
  }
  for (const [name, type] of Object.entries(variables)) environment.registerVariable(name, type);
  const names = [...known, ...Object.keys(variables)];
  return {
    extend: (more) => compilerIn(environment, names, more),
    compile: (source, expected) => compile(environment, names, source, expected),
  };
}

function compile(
  environment: Environment,
  names: readonly string[],
  source: string,
  expected: readonly string[] | undefined,
): Expression {
  if (source.length > EXPRESSION_CHARACTERS)
    throw new ExpressionError(`the expression has ${source.length} characters, the limit is ${EXPRESSION_CHARACTERS}`);
  const { ast, type } = parseAndCheck(environment, source);
  if (expected && type !== 'dyn' && !expected.some((each) => type === each || type === `dyn<${each}>`))
    throw new ExpressionError(`must evaluate to ${expected.join(' or ')}, not ${type}`);
  const scope = new Scope(names);
  const code = compiled(ast, scope);
  const used = new Set(nodesOf(ast).flatMap((node) => (node.op === 'id' ? [node.args] : [])));
  return {
    source,
    type,
    uses: (variable) => used.has(variable),
    evaluate: (values, budget) => code({ slots: names.map((name) => values[name]), budget }),
  };
}

function parseAndCheck(environment: Environment, source: string): { ast: ASTNode; type: string } {
  try {
    const parsed = environment.parse(source);
    checkHasFully(parsed.ast);
    const { valid, type, error } = parsed.check();
    if (!valid || type === undefined) throw error ?? new ExpressionError('the expression has no type');
    checkPatterns(parsed.ast);
    return { ast: parsed.ast, type };
  } catch (error) {
    if (error instanceof ExpressionError) throw error;
    throw new ExpressionError(reasonOf(error), { cause: error });
  }
}

/** As in Kubernetes a regular expression that is written out is compiled with the expression that it stands in. */
function checkPatterns(ast: ASTNode): void {
  for (const node of nodesOf(ast)) {
    const pattern = patternIn(node);
    if (pattern === undefined) continue;
    try {
      compilePattern(pattern);
    } catch (error) {
      if (error instanceof RangeError)
        throw new ExpressionError(`invalid regular expression: ${error.message}`, { cause: error });
      throw error;
    }
  }
}

const PATTERN_FUNCTIONS: ReadonlySet<string> = new Set(['matches', 'find', 'findAll']);

/** The regular expression of text.matches('a'), or of matches(text, 'a'); undefined where it is computed. */
function patternIn(node: ASTNode): string | undefined {
  if ((node.op !== 'call' && node.op !== 'rcall') || !PATTERN_FUNCTIONS.has(node.args[0])) return undefined;
  const pattern = node.op === 'call' ? node.args[1][1] : node.args[2][0];
  return pattern?.op === 'value' && typeof pattern.args === 'string' ? pattern.args : undefined;
}

/** The parser's message in the words of Kubernetes' compiler, with where in the expression it is wrong. */
function reasonOf(error: unknown): string {
  const { code, summary, range } = error as { code?: string; summary?: string; range?: { start: number } };
  const text = summary ?? (error instanceof Error ? error.message : 'the expression is wrong');
  const place = range === undefined ? '' : ` (at character ${range.start + 1})`;
  if (code === 'no_such_key') return `undefined field '${text.replace('No such key: ', '')}'${place}`;
  if (code === 'unknown_variable') return `undeclared reference to '${text.replace('Unknown variable: ', '')}'${place}`;
  if (code === 'no_such_overload' || code === 'no_matching_overload') return `${overloadText(text)}${place}`;
  return `${text}${place}`;
}

/** "int > string" or "!int" of an operator, "size(int)" of a function, "string.startsWith(int)" of a method. */
function overloadText(text: string): string {
  const none = (name: string, types: string): string =>
    `found no matching overload for '${name}' applied to '${types.replaceAll('<', '(').replaceAll('>', ')')}'`;
  const binary = /^no such overload: (.+) (\S+) (.+)$/.exec(text);
  if (binary) {
    const [, left, operator, right] = binary;
    return none(operator === 'in' ? '@in' : `_${operator}_`, `(${left}, ${right})`);
  }
  const unary = /^no such overload: ([!-])(.+)$/.exec(text);
  if (unary) return none(`${unary[1]}_`, `(${unary[2]})`);
  const call = /^found no matching overload for '(?:(.+)\.)?([^.(]+)(\(.*\))'$/.exec(text);
  if (!call) return text;
  const [, receiver, name, types] = call;
  return none(name!, receiver === undefined ? types! : `${receiver}.${types}`);
}

function compiled(ast: ASTNode, scope: Scope) {
  try {
    return compileNode(ast, scope);
  } catch (error) {
    if (error instanceof UnsupportedExpression) throw new ExpressionError(error.message, { cause: error });
    throw error;
  }
}
