import type { ASTNode } from '@marcbachmann/cel-js';
import { UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import { type Code, FAILURE_STEPS, type Scope, truth, UnsupportedExpression } from './frame.ts';
import { HANDLERS, type Handler } from './functions/index.ts';
import { MACROS } from './macros.ts';
import { BINARY, negate, select, selectOptional } from './operators.ts';
import { CelError, failed, MapValue, TypeName, Uint, type Value } from './values.ts';

const TYPE_NAMES = new Set(['string', 'bool', 'int', 'uint', 'double', 'map', 'list', 'bytes', 'null_type', 'type']);

/** Makes code of a parsed and checked expression. Every node of it takes at least one step of the budget. */
export function compileNode(ast: ASTNode, scope: Scope): Code {
  const code = codeOf(ast, scope);
  return (frame) => {
    frame.budget.take(1);
    return code(frame);
  };
}

function codeOf(ast: ASTNode, scope: Scope): Code {
  const compile = (inner: ASTNode) => compileNode(inner, scope);
  switch (ast.op) {
    case 'value':
      return literal(ast.args);
    case 'id':
      return variable(ast.args, scope);
    case '.':
    case '.?': {
      const qualified = qualifiedType(ast);
      if (qualified !== undefined) return () => qualified;
      const [left, name] = [compile(ast.args[0]), ast.args[1]];
      const read = ast.op === '.' ? select : selectOptional;
      return (frame) => read(left(frame), name, frame.budget);
    }
    case '[]':
    case '[?]': {
      const [left, key] = [compile(ast.args[0]), compile(ast.args[1])];
      const read = ast.op === '[]' ? select : selectOptional;
      return (frame) => read(left(frame), key(frame), frame.budget);
    }
    case 'call':
      return functionCall(ast.args[0], undefined, ast.args[1], scope);
    case 'rcall':
      return functionCall(ast.args[0], ast.args[1], ast.args[2], scope);
    case 'list':
      return listCode(ast.args.map(compile));
    case 'map':
      return mapCode(ast.args.map(([key, value]) => [compile(key), compile(value)] as const));
    case '?:': {
      const [condition, then, otherwise] = ast.args.map(compile) as [Code, Code, Code];
      return (frame) => (truth(condition(frame)) ? then(frame) : otherwise(frame));
    }
    case '||':
    case '&&':
      return logical(compile(ast.args[0]), compile(ast.args[1]), ast.op === '||');
    case '!_': {
      const operand = compile(ast.args);
      return (frame) => !truth(operand(frame));
    }
    case '-_': {
      const operand = compile(ast.args);
      return (frame) => negate(operand(frame));
    }
    default:
      return binaryCode(ast.op, ast.args as [ASTNode, ASTNode], compile);
  }
}

function literal(value: unknown): Code {
  const constant = value instanceof UnsignedInt ? new Uint(value.value) : (value as Value);
  return () => constant;
}

function variable(name: string, scope: Scope): Code {
  const slot = scope.slotOf(name);
  if (slot !== undefined)
    return ({ slots }) => {
      const value = slots[slot];
      return value === undefined ? failed(`no such variable: ${name}`) : value;
    };
  if (!TYPE_NAMES.has(name)) throw new UnsupportedExpression(`undeclared reference to '${name}'`);
  const type = new TypeName(name);
  return () => type;
}

function qualifiedType(ast: ASTNode): TypeName | undefined {
  const text = dottedName(ast);
  return text === 'google.protobuf.Timestamp' || text === 'google.protobuf.Duration' ? new TypeName(text) : undefined;
}

function dottedName(ast: ASTNode): string | undefined {
  if (ast.op === 'id') return ast.args;
  if (ast.op !== '.') return undefined;
  const left = dottedName(ast.args[0]);
  return left === undefined ? undefined : `${left}.${ast.args[1]}`;
}

function functionCall(name: string, receiver: ASTNode | undefined, args: readonly ASTNode[], scope: Scope): Code {
  const macro = MACROS[name];
  const expanded = macro?.({ name, receiver, args, scope, compile: compileNode });
  if (expanded !== undefined) return expanded;
  const namespace = receiver === undefined ? undefined : dottedName(receiver);
  const isNamespaced = namespace !== undefined && scope.slotOf(namespace) === undefined;
  const full = isNamespaced && Object.hasOwn(HANDLERS, `${namespace}.${name}`) ? `${namespace}.${name}` : name;
  const handler: Handler | undefined = Object.hasOwn(HANDLERS, full) ? HANDLERS[full] : undefined;
  if (handler === undefined) throw new UnsupportedExpression(`the function ${name}() is not supported`);
  const codes = [...(receiver === undefined || full !== name ? [] : [receiver]), ...args].map((each) => compileNode(each, scope));
  return (frame) => {
    const values = codes.map((code) => code(frame));
    return handler(values, frame.budget);
  };
}

function listCode(codes: readonly Code[]): Code {
  return (frame) => codes.map((code) => code(frame));
}

function mapCode(entries: readonly (readonly [Code, Code])[]): Code {
  return (frame) => {
    const map = new MapValue();
    for (const [key, value] of entries) map.set(key(frame), value(frame), frame.budget);
    return map;
  };
}

function binaryCode(operator: string, [left, right]: [ASTNode, ASTNode], compile: (ast: ASTNode) => Code): Code {
  const handler = BINARY[operator];
  if (handler === undefined) throw new UnsupportedExpression(`the operator ${operator} is not supported`);
  const [a, b] = [compile(left), compile(right)];
  return (frame) => handler(a(frame), b(frame), frame.budget);
}

/** Either side decides alone, whatever the other one is, even when that fails. */
function logical(left: Code, right: Code, decisive: boolean): Code {
  return (frame) => {
    let failure: CelError | undefined;
    try {
      if (truth(left(frame)) === decisive) return decisive;
    } catch (error) {
      if (!(error instanceof CelError)) throw error;
      frame.budget.take(FAILURE_STEPS);
      failure = error;
    }
    if (truth(right(frame)) === decisive) return decisive;
    if (failure !== undefined) throw failure;
    return !decisive;
  };
}
