import { isJsonObject, type Json, type JsonObject } from '../../api/meta/merge-patch.ts';
import { bytesOf, parseDuration } from '../schema/formats.ts';
import type { SchemaNode } from '../schema/schema-node.ts';
import type { Budget } from './budget.ts';
import { escapeName, unescapeName } from './escape.ts';
import { parseTimestamp } from './timestamps.ts';

/** Characters of a time, or of a duration; longer texts are none. */
const CLOCK_CHARACTERS = 200;

/** An expression failed on a value: no such key, division by zero, a text that is no number. */
export class CelError extends Error {
  override readonly name = 'CelError';
}

/** Nanoseconds. */
export class Duration {
  readonly nanoseconds: bigint;
  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
  }
}

/** Nanoseconds since 1970. */
export class Timestamp {
  readonly nanoseconds: bigint;
  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
  }
}

export class Uint {
  readonly value: bigint;
  constructor(value: bigint) {
    this.value = value;
  }
}

export class Optional {
  static readonly none = new Optional(undefined);
  readonly value: Value | undefined;
  constructor(value: Value | undefined) {
    this.value = value;
  }
}

/** The name of a type: what `type(x)` gives. */
export class TypeName {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** A value of one of Kubernetes' types (URL, IP, Quantity, ...): its functions know its inside. */
export abstract class Opaque {
  abstract readonly typeName: string;
  /** Equal values have equal texts. */
  abstract readonly identity: string;
}

/** What an expression computes with. int is bigint, double number; lists and maps of objects are views of them. */
export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Uint
  | Duration
  | Timestamp
  | Optional
  | TypeName
  | Opaque
  | readonly Value[]
  | ListView
  | MapValue
  | ObjectView;

/** A map that an expression made; its keys are strings, ints, uints and bools, kept apart by their type. */
export class MapValue {
  readonly #entries = new Map<string | bigint | boolean, Value>();

  /** Takes steps for a long key: it is compared with the ones that are there. */
  set(key: Value, value: Value, budget: Budget): void {
    takeKey(key, budget);
    const plain = key instanceof Uint ? key.value : key;
    if (typeof plain !== 'string' && typeof plain !== 'bigint' && typeof plain !== 'boolean')
      throw new CelError('unsupported key type: keys of maps are strings, whole numbers and booleans');
    this.#entries.set(plain, value);
  }

  get(key: Value, budget: Budget): Value | undefined {
    takeKey(key, budget);
    const plain = key instanceof Uint ? key.value : typeof key === 'number' && Number.isInteger(key) ? BigInt(key) : key;
    return this.#entries.get(plain as string);
  }

  /** Takes a step for each. */
  keys(budget: Budget): readonly Value[] {
    budget.take(this.size);
    return [...this.#entries.keys()];
  }

  get size(): number {
    return this.#entries.size;
  }
}

/** A list of an object; its items become values one by one, when they are looked at. */
export class ListView {
  readonly json: readonly Json[];
  readonly node: SchemaNode | undefined;

  constructor(json: readonly Json[], node: SchemaNode | undefined) {
    this.json = json;
    this.node = node;
  }

  /** Undefined where there is no item. */
  at(index: number, budget: Budget): Value | undefined {
    const item = this.json[index];
    return item === undefined ? undefined : celValue(item, this.node?.items, budget);
  }
}

/** Members that every resource has; of its metadata, expressions see the names. */
const STRING: SchemaNode = {
  type: 'string',
  nullable: false,
  intOrString: false,
  preserveUnknownFields: false,
  embeddedResource: false,
};
const NAMES: SchemaNode = {
  ...STRING,
  type: 'object',
  properties: new Map([
    ['name', STRING],
    ['generateName', STRING],
  ]),
};

const resources = new WeakMap<SchemaNode, SchemaNode>();

/** The schema of a resource as expressions see it: with apiVersion, kind and the names of the metadata. */
export function resourceNode(node: SchemaNode): SchemaNode {
  let completed = resources.get(node);
  if (completed === undefined) {
    const own = [...(node.properties ?? [])].filter(([name]) => name !== 'metadata');
    completed = { ...node, properties: new Map([['apiVersion', STRING], ['kind', STRING], ...own, ['metadata', NAMES]]) };
    resources.set(node, completed);
  }
  return completed;
}

/** An object or a map, with its schema; without one it is a map of whatever JSON has. */
export class ObjectView {
  readonly json: JsonObject;
  readonly node: SchemaNode | undefined;

  constructor(json: JsonObject, node: SchemaNode | undefined) {
    this.json = json;
    this.node = node;
  }

  /** A map's keys are data; an object's are names of properties, which expressions write escaped. */
  get isMap(): boolean {
    return this.node?.properties === undefined && (this.node === undefined || this.node.additionalProperties !== undefined);
  }

  get(key: Value, budget: Budget): Value | undefined {
    if (typeof key !== 'string') return undefined;
    takeKey(key, budget);
    if (this.isMap) {
      const { additionalProperties: values } = this.node ?? {};
      return Object.hasOwn(this.json, key) ? celValue(this.json[key]!, values === true ? undefined : values, budget) : undefined;
    }
    const name = unescapeName(key);
    const property = this.node?.properties?.get(name);
    if (property === undefined || !Object.hasOwn(this.json, name)) return undefined;
    const value = this.json[name]!;
    // A null of a property that may be null is an absent one, as in Kubernetes.
    return value === null && property.nullable ? undefined : celValue(value, property, budget);
  }

  /** Takes a step for each key: of a large object they are made anew at every call. */
  keys(budget: Budget): string[] {
    const names = Object.keys(this.json);
    budget.take(names.length);
    if (this.isMap || this.node === undefined) return names;
    const reached = escapedNames(this.node);
    return names.flatMap((name) => reached.get(name) ?? []);
  }
}

const escaped = new WeakMap<SchemaNode, ReadonlyMap<string, string>>();

/** The properties of a node that expressions reach, with the names that they have there. */
function escapedNames(node: SchemaNode): ReadonlyMap<string, string> {
  let names = escaped.get(node);
  if (names === undefined) {
    const entries = [...(node.properties?.keys() ?? [])].map((name) => [name, escapeName(name)] as const);
    names = new Map(entries.filter((each): each is readonly [string, string] => each[1] !== undefined));
    escaped.set(node, names);
  }
  return names;
}

function takeKey(key: Value, budget: Budget): void {
  if (typeof key === 'string') budget.take(Math.floor(key.length / 32));
}

/**
 * A value of an object, by its schema; where there is none, whole numbers are ints and others doubles. Takes the steps
 * of decoding a text.
 */
export function celValue(json: Json, node: SchemaNode | undefined, budget: Budget): Value {
  if (typeof json === 'string') return textValue(json, node?.format, budget);
  if (typeof json === 'number') {
    if (node?.type === 'number') return json;
    return Number.isInteger(json) ? BigInt(json) : json;
  }
  if (Array.isArray(json)) return new ListView(json, node);
  if (isJsonObject(json))
    return new ObjectView(json, node?.embeddedResource ? resourceNode(node) : node?.type === 'object' ? node : undefined);
  return json;
}

function textValue(text: string, format: string | undefined, budget: Budget): Value {
  switch (format) {
    case 'byte':
      budget.take(Math.ceil(text.length / 10));
      return bytesOf(text);
    case 'date':
    case 'date-time':
    case 'datetime':
      readClock(text, budget);
      return new Timestamp(parseTimestamp(text) ?? failed(`"${text.slice(0, 60)}" is no time`));
    case 'duration':
      readClock(text, budget);
      return new Duration(parseDuration(text) ?? failed(`"${text.slice(0, 60)}" is no duration`));
    default:
      return text;
  }
}

/** Takes the steps of reading a time or a duration: one for each character of what may be one. */
export function readClock(text: string, budget: Budget): void {
  budget.take(Math.min(text.length, CLOCK_CHARACTERS));
}

export function failed(why: string): never {
  throw new CelError(why);
}
