import { isJsonObject } from '../../api/meta/merge-patch.ts';
import { formatValue, sortedEntries, typeName, type Value } from './format.ts';
import { callFunction, checkCount, FunctionError, isTrue } from './functions.ts';
import type { Command, Node, Operand, Pipeline, Place, Template } from './nodes.ts';
import { lineAndColumn, templateName } from './template-error.ts';

/** A template that goes on longer, or writes more, is a mistake. */
export interface Bounds {
  readonly steps: number;
  readonly characters: number;
  /** How deep actions and templates that are called may stand in each other. */
  readonly depth: number;
  /** Whether a key that is not there is an error, and no value by default. */
  readonly strict: boolean;
}

const usualBounds: Bounds = { steps: 50_000_000, characters: 128 * 1024 * 1024, depth: 500, strict: false };

/** What the template failed at while it was filled in, in Go's words. */
export class ExecutionError extends Error {}

/** Fills a template in. Throws ExecutionError. */
export function fillGoTemplate(template: Template, data: Value, bounds: Partial<Bounds> = {}): string {
  return new Evaluation(template, { ...usualBounds, ...bounds }).run(data);
}

interface Variable {
  readonly name: string;
  value: Value;
}

/** Why a list of nodes ended early. */
type Jump = 'break' | 'continue' | undefined;

/** No value comes from the stage before. */
const none = Symbol('none');

class Evaluation {
  readonly #template: Template;
  readonly #bounds: Bounds;
  readonly #pieces: string[] = [];
  #variables: Variable[] = [];
  #name = templateName;
  #length = 0;
  #steps = 0;
  #depth = 0;

  constructor(template: Template, bounds: Bounds) {
    this.#template = template;
    this.#bounds = bounds;
  }

  run(data: Value): string {
    this.#variables = [{ name: '$', value: data }];
    this.#list(this.#template.body, data);
    return this.#pieces.join('');
  }

  #list(nodes: readonly Node[], dot: Value): Jump {
    const { depth } = this.#bounds;
    let jump: Jump;
    this.#depth++;
    for (const node of nodes) {
      if (this.#depth > depth) throw this.#wrong(node, `exceeded maximum template depth (${depth})`);
      jump = this.#node(node, dot);
      if (jump !== undefined) break;
    }
    this.#depth--;
    return jump;
  }

  #node(node: Node, dot: Value): Jump {
    this.#step(node);
    switch (node.type) {
      case 'text':
        this.#write(node.text, node);
        return undefined;
      case 'action': {
        const value = this.#pipeline(node.pipeline, dot);
        if (node.pipeline.variables.length === 0) this.#write(printed(value), node);
        return undefined;
      }
      case 'break':
      case 'continue':
        return node.type;
      case 'template':
        this.#call(node, dot);
        return undefined;
      default:
        return this.#scoped(() => this.#control(node, dot));
    }
  }

  #control(node: Extract<Node, { type: 'if' | 'with' | 'range' }>, dot: Value): Jump {
    if (node.type === 'range') return this.#range(node, this.#value(node.pipeline, dot), dot);
    const value = this.#pipeline(node.pipeline, dot);
    if (!isTrue(value)) return this.#list(node.otherwise, dot);
    return this.#list(node.body, node.type === 'with' ? value : dot);
  }

  #range(node: Extract<Node, { type: 'if' | 'with' | 'range' }>, value: Value, dot: Value): Jump {
    const { variables, isAssignment, at, end } = node.pipeline;
    let count = 0;
    for (const [key, item] of this.#entries(value, { at, end })) {
      count++;
      this.#step(node);
      const jump = this.#scoped(() => {
        const values = variables.length === 1 ? [typeof value === 'number' ? key : item] : [key, item];
        variables.forEach((name, index) => {
          if (isAssignment) this.#assign(name, values[index], node.pipeline);
          else this.#variables.push({ name, value: values[index] });
        });
        return this.#list(node.body, item);
      });
      if (jump === 'break') break;
    }
    // A {{break}} in here belongs to the range around this one.
    return count === 0 ? this.#list(node.otherwise, dot) : undefined;
  }

  *#entries(value: Value, place: Place): Iterable<readonly [Value, Value]> {
    if (value === undefined || value === null) return;
    if (Array.isArray(value)) yield* value.entries();
    else if (isJsonObject(value)) yield* sortedEntries(value, (key, inner) => [key, inner] as const);
    else if (typeof value === 'number' && Number.isInteger(value)) for (let at = 0; at < value; at++) yield [at, at];
    else throw this.#wrong(place, `range can't iterate over ${formatValue(value)}`);
  }

  #call(node: Extract<Node, { type: 'template' }>, dot: Value): void {
    const body = this.#template.defined.get(node.name);
    if (body === undefined) throw this.#wrong(node, `template ${JSON.stringify(node.name)} not defined`);
    const value = node.pipeline && this.#pipeline(node.pipeline, dot);
    const [variables, name] = [this.#variables, this.#name];
    this.#variables = [{ name: '$', value }];
    this.#name = node.name;
    this.#list(body, value);
    [this.#variables, this.#name] = [variables, name];
  }

  /** The value; a variable that is declared stays until its scope ends. */
  #pipeline(pipeline: Pipeline, dot: Value): Value {
    const value = this.#value(pipeline, dot);
    const [name] = pipeline.variables;
    if (name !== undefined) {
      if (pipeline.isAssignment) this.#assign(name, value, pipeline);
      else this.#variables.push({ name, value });
    }
    return value;
  }

  #value({ commands }: Pipeline, dot: Value): Value {
    let value: Value | typeof none = none;
    for (const command of commands) value = this.#command(command, dot, value);
    return value === none ? undefined : value;
  }

  #command({ words: [first, ...rest], ...place }: Command, dot: Value, last: Value | typeof none): Value {
    this.#step(place);
    if (first.type === 'function') return this.#invoke(first, rest, dot, last);
    const hasArguments = rest.length > 0 || last !== none;
    if (first.type === 'nil') throw this.#wrong(first, 'nil is not a command');
    if (!hasArguments) return this.#operand(first, dot);
    if (first.type === 'field' || first.type === 'chain' || first.type === 'variable') {
      const name = first.names.at(-1) ?? (first.type === 'variable' ? first.name : '');
      throw this.#wrong(first, `${name} is not a method but has arguments`);
    }
    throw this.#wrong(first, `can't give argument to non-function ${this.#source(first)}`);
  }

  #invoke(func: Extract<Operand, { type: 'function' }>, words: readonly Operand[], dot: Value, last: Value | typeof none): Value {
    const { name } = func;
    const values: Value[] = [];
    try {
      checkCount(name, words.length + Number(last !== none));
      for (const word of words) {
        const value = this.#operand(word, dot);
        // The values behind the one that decides are not asked for.
        if ((name === 'and' && !isTrue(value)) || (name === 'or' && isTrue(value))) return value;
        values.push(value);
      }
      if (last !== none) values.push(last);
      const result = callFunction(name, values);
      if (typeof result === 'string') this.#room(result.length, func);
      return result;
    } catch (error) {
      // A text that no string has room for.
      if (error instanceof RangeError) this.#room(Number.POSITIVE_INFINITY, func);
      if (!(error instanceof FunctionError)) throw error;
      const isCount = error.message.startsWith('wrong number of args');
      throw this.#wrong(func, isCount ? error.message : `error calling ${name}: ${error.message}`);
    }
  }

  #operand(operand: Operand, dot: Value): Value {
    switch (operand.type) {
      case 'dot':
        return dot;
      case 'nil':
        return null;
      case 'constant':
        return operand.value;
      case 'field':
        return this.#fields(dot, operand.names, operand);
      case 'variable':
        return this.#fields(this.#variable(operand.name, operand).value, operand.names, operand);
      case 'chain':
        return this.#fields(this.#operand(operand.of, dot), operand.names, operand);
      case 'pipeline':
        return this.#scoped(() => this.#pipeline(operand.pipeline, dot));
      case 'function':
        return this.#invoke(operand, [], dot, none);
    }
  }

  #fields(from: Value, names: readonly string[], place: Place): Value {
    let value = from;
    for (const name of names) {
      // As kubectl: what is not there has no fields, and that is no mistake.
      if (value === undefined) return undefined;
      if (value === null) throw this.#wrong(place, `nil pointer evaluating interface {}.${name}`);
      if (!isJsonObject(value)) throw this.#wrong(place, `can't evaluate field ${name} in type ${typeName(value)}`);
      if (this.#bounds.strict && !Object.hasOwn(value, name))
        throw this.#wrong(place, `map has no entry for key ${JSON.stringify(name)}`);
      value = Object.hasOwn(value, name) ? value[name] : undefined;
    }
    return value;
  }

  #variable(name: string, place: Place): Variable {
    const found = this.#variables.findLast((variable) => variable.name === name);
    if (found === undefined) throw this.#wrong(place, `undefined variable: ${name}`);
    return found;
  }

  #assign(name: string, value: Value, place: Place): void {
    this.#variable(name, place).value = value;
  }

  #scoped<T>(run: () => T): T {
    const known = this.#variables.length;
    const result = run();
    this.#variables.length = known;
    return result;
  }

  #write(text: string, place: Place): void {
    this.#length += text.length;
    this.#room(this.#length, place);
    this.#pieces.push(text);
  }

  #room(length: number, place: Place): void {
    const { characters } = this.#bounds;
    if (length > characters) throw this.#wrong(place, `the output is longer than ${characters} characters`);
  }

  #step(place: Place): void {
    if (++this.#steps > this.#bounds.steps)
      throw this.#wrong(place, `the template has not ended after ${this.#bounds.steps} steps`);
  }

  #source({ at, end }: Place): string {
    return this.#template.text.slice(at, end);
  }

  #wrong(place: Place, why: string): ExecutionError {
    const { line, column } = lineAndColumn(this.#template.text, place.at);
    const source = this.#source(place).trim();
    const context = source.length > 20 ? `${source.slice(0, 20)}...` : source;
    const at = `executing ${JSON.stringify(this.#name)} at <${context}>`;
    return new ExecutionError(`template: ${templateName}:${line}:${column}: ${at}: ${why}`);
  }
}

function printed(value: Value): string {
  return value === undefined || value === null ? '<no value>' : formatValue(value);
}
