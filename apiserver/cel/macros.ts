import type { ASTNode } from '@marcbachmann/cel-js';
import { isList } from './equality.ts';
import { type Code, FAILURE_STEPS, type Frame, hasMember, rangeOf, type Scope, truth, UnsupportedExpression } from './frame.ts';
import { lookUp } from './operators.ts';
import { CelError, failed, MapValue, Optional, type Value } from './values.ts';

export interface MacroCall {
  readonly name: string;
  readonly receiver: ASTNode | undefined;
  readonly args: readonly ASTNode[];
  readonly scope: Scope;
  readonly compile: (ast: ASTNode, scope: Scope) => Code;
}

/** Makes code of a call whose arguments are no values; undefined when the call is one of a function of that name. */
type Macro = (call: MacroCall) => Code | undefined;

export const MACROS: Readonly<Record<string, Macro | undefined>> = Object.assign(Object.create(null), {
  has: hasMacro,
  bind: bindMacro,
  all: (call: MacroCall) => comprehension(call, 1, quantifier(false)),
  exists: (call: MacroCall) => comprehension(call, 1, quantifier(true)),
  exists_one: (call: MacroCall) => comprehension(call, 1, onlyOne),
  existsOne: (call: MacroCall) => comprehension(call, 1, onlyOne),
  filter: (call: MacroCall) => comprehension(call, 1, filterItems),
  map: (call: MacroCall) => (call.args.length === 3 ? comprehension(call, 2, filterThenMap) : comprehension(call, 1, mapItems)),
  transformList: (call: MacroCall) => transform(call, (codes) => listOf(codes)),
  transformMap: (call: MacroCall) => transform(call, (codes) => mapOf(codes)),
  or: (call: MacroCall) => optionalElse(call, (value) => value),
  orValue: (call: MacroCall) => optionalElse(call, (value) => value.value!),
  optMap: (call: MacroCall) => optionalMap(call, (value) => new Optional(value)),
  optFlatMap: (call: MacroCall) => optionalMap(call, (value) => value),
});

function hasMacro({ receiver, args: [arg], scope, compile }: MacroCall): Code | undefined {
  if (receiver !== undefined || arg === undefined) return undefined;
  if (arg.op !== '.' && arg.op !== '.?') throw new UnsupportedExpression('has() needs the member of an object: has(self.name)');
  const [object, name] = [compile(arg.args[0], scope), arg.args[1]];
  return (frame) => hasMember(object(frame), name, frame.budget);
}

function bindMacro({ receiver, args: [name, init, body], scope, compile }: MacroCall): Code | undefined {
  if (receiver?.op !== 'id' || receiver.args !== 'cel' || init === undefined || body === undefined) return undefined;
  const inner = scope.with(nameOf(name));
  const [first, second] = [compile(init, scope), compile(body, inner.scope)];
  return (frame) => {
    frame.slots[inner.slot] = first(frame);
    return second(frame);
  };
}

function nameOf(ast: ASTNode | undefined): string {
  if (ast?.op !== 'id') throw new UnsupportedExpression('the variable of a macro must be a simple name');
  return ast.args;
}

/** One item at a time: sets the variables of the item, and takes a step. The key is a list's index, or a map's key. */
type Walk = (frame: Frame, visit: (item: Value, key: Value) => boolean) => void;
type Comprehension = (walk: Walk, bodies: readonly Code[]) => Code;

/**
 * A comprehension over items (`list.all(item, ...)`), or over indexes and items, keys and values
 * (`list.all(index, item, ...)`).
 */
function comprehension(call: MacroCall, bodies: number, made: Comprehension): Code | undefined {
  const { receiver, args, scope, compile } = call;
  if (receiver === undefined) return undefined;
  const variables = args.length - bodies;
  if (variables !== 1 && variables !== 2) return undefined;
  const first = scope.with(nameOf(args[0]));
  const second = variables === 2 ? first.scope.with(nameOf(args[1])) : undefined;
  const inner = second?.scope ?? first.scope;
  const range = compile(receiver, scope);
  const walk = walker(range, first.slot, second?.slot);
  return made(
    walk,
    args.slice(variables).map((body) => compile(body, inner)),
  );
}

function walker(range: Code, first: number, second: number | undefined): Walk {
  return (frame, visit) => {
    const collection = range(frame);
    const items = rangeOf(collection, frame.budget);
    const isIndexed = isList(collection);
    for (let at = 0; at < items.length; at++) {
      frame.budget.take(1);
      const item = items.at(at);
      if (second === undefined) frame.slots[first] = item;
      else {
        frame.slots[first] = isIndexed ? BigInt(at) : item;
        frame.slots[second] = isIndexed ? item : lookUp(collection, item, frame.budget);
      }
      if (!visit(item, isIndexed ? BigInt(at) : item)) return;
    }
  };
}

/** all (decided by false) and exists (by true): an item that decides does so whatever fails on others. */
function quantifier(decisive: boolean): Comprehension {
  return (walk, [body]) =>
    (frame) => {
      let failure: CelError | undefined;
      let decided = false;
      walk(frame, () => {
        try {
          decided = truth(body!(frame)) === decisive;
        } catch (error) {
          if (!(error instanceof CelError)) throw error;
          frame.budget.take(FAILURE_STEPS);
          failure ??= error;
        }
        return !decided;
      });
      if (!decided && failure !== undefined) throw failure;
      return decided === decisive;
    };
}

const onlyOne: Comprehension =
  (walk, [body]) =>
  (frame) => {
    let count = 0;
    walk(frame, () => {
      if (truth(body!(frame))) count++;
      return true;
    });
    return count === 1;
  };

const filterItems: Comprehension =
  (walk, [body]) =>
  (frame) => {
    const kept: Value[] = [];
    walk(frame, (item) => {
      if (truth(body!(frame))) kept.push(item);
      return true;
    });
    return kept;
  };

const mapItems: Comprehension = (walk, [body]) => listOf({ walk, filter: undefined, body: body! });

const filterThenMap: Comprehension = (walk, [filter, body]) => listOf({ walk, filter, body: body! });

interface Transform {
  readonly walk: Walk;
  readonly filter: Code | undefined;
  readonly body: Code;
}

function listOf({ walk, filter, body }: Transform): Code {
  return (frame) => {
    const results: Value[] = [];
    walk(frame, () => {
      if (filter === undefined || truth(filter(frame))) results.push(body(frame));
      return true;
    });
    return results;
  };
}

function mapOf({ walk, filter, body }: Transform): Code {
  return (frame) => {
    const result = new MapValue();
    walk(frame, (_item, key) => {
      if (filter === undefined || truth(filter(frame))) result.set(key, body(frame), frame.budget);
      return true;
    });
    return result;
  };
}

/** transformList and transformMap: always with two variables, with or without a filter. */
function transform(call: MacroCall, made: (codes: Transform) => Code): Code | undefined {
  const hasFilter = call.args.length === 4;
  return comprehension(call, hasFilter ? 2 : 1, (walk, bodies) =>
    made({ walk, filter: hasFilter ? bodies[0] : undefined, body: bodies.at(-1)! }),
  );
}

function optionalOf(value: Value): Optional {
  return value instanceof Optional ? value : failed('no such overload: the value is not optional');
}

/** The other value is only computed where the optional one is empty. */
function optionalElse({ receiver, args, scope, compile }: MacroCall, present: (value: Optional) => Value): Code | undefined {
  if (receiver === undefined || args.length !== 1) return undefined;
  const [value, other] = [compile(receiver, scope), compile(args[0]!, scope)];
  return (frame) => {
    const found = optionalOf(value(frame));
    return found.value === undefined ? other(frame) : present(found);
  };
}

function optionalMap({ receiver, args, scope, compile }: MacroCall, result: (value: Value) => Value): Code | undefined {
  if (receiver === undefined || args.length !== 2) return undefined;
  const inner = scope.with(nameOf(args[0]));
  const [value, body] = [compile(receiver, scope), compile(args[1]!, inner.scope)];
  return (frame) => {
    const found = optionalOf(value(frame));
    if (found.value === undefined) return Optional.none;
    frame.slots[inner.slot] = found.value;
    return result(body(frame));
  };
}
