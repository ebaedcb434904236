import type { ASTNode } from '@marcbachmann/cel-js';

/** What the parser hands to a macro's type check; no more of it than is used. */
interface CheckedType {
  readonly kind: string;
  readonly keyType?: CheckedType;
  readonly valueType?: CheckedType;
}

interface Checker {
  check(ast: ASTNode, context: Context): CheckedType;
  getType(name: string): CheckedType;
  createError(code: string, message: string, ast: ASTNode): Error;
  readonly registry: { getOptionalType(type: CheckedType): CheckedType; getListType(type: CheckedType): CheckedType };
}

interface Context {
  forkWithVariable(name: string, type: CheckedType): Context;
}

interface Macro {
  readonly args: readonly ASTNode[];
  readonly receiver: ASTNode | null;
  readonly ast: ASTNode;
}

type Check = (checker: Checker, macro: Macro, context: Context) => CheckedType;

/** Macros that the parser does not have, with the type of their result. The server's own evaluator runs them. */
const CHECKS: Readonly<Record<string, Check>> = {
  'list<dyn>.all(ast, ast, ast): bool': pairs((checker) => checker.getType('bool')),
  'list<dyn>.exists(ast, ast, ast): bool': pairs((checker) => checker.getType('bool')),
  'list<dyn>.existsOne(ast, ast, ast): bool': pairs((checker) => checker.getType('bool')),
  'list<dyn>.transformList(ast, ast, ast): list<dyn>': pairs((checker, body) => checker.registry.getListType(body)),
  'list<dyn>.transformList(ast, ast, ast, ast): list<dyn>': pairs((checker, body) => checker.registry.getListType(body)),
  'list<dyn>.transformMap(ast, ast, ast): map<dyn, dyn>': pairs((checker) => checker.getType('map<dyn, dyn>')),
  'list<dyn>.transformMap(ast, ast, ast, ast): map<dyn, dyn>': pairs((checker) => checker.getType('map<dyn, dyn>')),
  'optional<dyn>.optMap(ast, ast): optional<dyn>': ofOptional((checker, body) => checker.registry.getOptionalType(body)),
  'optional<dyn>.optFlatMap(ast, ast): optional<dyn>': ofOptional((_checker, body) => body),
};

function nameOf(checker: Checker, ast: ASTNode): string {
  if (ast.op === 'id') return ast.args;
  throw checker.createError('invalid_macro_argument', 'the variable of a macro must be a simple name', ast);
}

/** Two variables: index and item of a list, key and value of a map. */
function pairs(result: (checker: Checker, body: CheckedType) => CheckedType): Check {
  return (checker, { args, receiver, ast }, context) => {
    const range = checker.check(receiver!, context);
    const dyn = checker.getType('dyn');
    if (range.kind !== 'list' && range.kind !== 'map' && range.kind !== 'dyn')
      throw checker.createError('invalid_comprehension_range', 'only lists and maps can be run over', ast);
    const key = range.kind === 'list' ? checker.getType('int') : (range.keyType ?? dyn);
    const inner = context
      .forkWithVariable(nameOf(checker, args[0]!), key)
      .forkWithVariable(nameOf(checker, args[1]!), range.valueType ?? dyn);
    const types = args.slice(2).map((body) => checker.check(body, inner));
    return result(checker, types.at(-1)!);
  };
}

function ofOptional(result: (checker: Checker, body: CheckedType) => CheckedType): Check {
  return (checker, { args, receiver }, context) => {
    const optional = checker.check(receiver!, context);
    const type = optional.valueType ?? checker.getType('dyn');
    return result(checker, checker.check(args[1]!, context.forkWithVariable(nameOf(checker, args[0]!), type)));
  };
}

/** The parser admits has() only of plain names in a row; Kubernetes of any object: `has(self.list[0].name)`. */
const checkHas: Check = (checker, { args }, context) => {
  const [member] = args;
  if (member?.op !== '.' && member?.op !== '.?')
    throw checker.createError('invalid_macro_argument', 'has() needs the member of an object: has(self.name)', member!);
  checker.check(member, context);
  return checker.getType('bool');
};

function never(): never {
  throw new Error('the parser evaluates nothing');
}

function macroHandler(typeCheck: Check) {
  return (call: Macro) => ({ ...call, typeCheck, evaluate: never });
}

/** Signatures and handlers, for an Environment of the parser. */
export const MACRO_SIGNATURES: readonly (readonly [string, (call: Macro) => object])[] = Object.entries(CHECKS).map(
  ([signature, check]) => [signature, macroHandler(check)],
);

/** Gives every has() of a parsed expression the type check above, before it is checked. */
export function checkHasFully(ast: ASTNode): void {
  for (const node of nodesOf(ast))
    if (node.op === 'call' && node.args[0] === 'has' && node.args[1].length === 1)
      (node as ASTNode & { setMeta(name: string, value: unknown): void }).setMeta('macro', {
        args: node.args[1],
        receiver: null,
        ast: node,
        typeCheck: checkHas,
        evaluate: never,
      });
}

/** All nodes of a parsed expression, as they were written. */
export function nodesOf(ast: ASTNode): ASTNode[] {
  const nodes = [ast];
  for (let at = 0; at < nodes.length; at++) nodes.push(...partsOf(nodes[at]!));
  return nodes;
}

function partsOf(ast: ASTNode): readonly ASTNode[] {
  switch (ast.op) {
    case 'value':
    case 'id':
      return [];
    case '.':
    case '.?':
      return [ast.args[0]];
    case 'call':
      return ast.args[1];
    case 'rcall':
      return [ast.args[1], ...ast.args[2]];
    case 'map':
      return ast.args.flat();
    case '!_':
    case '-_':
      return [ast.args];
    default:
      return ast.args;
  }
}
