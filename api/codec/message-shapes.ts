import { packages } from '../generated/descriptors.ts';

/**
 * What the codec knows of a message. The descriptors of protobufjs say the same and more,
 * and take ten times as long to be made.
 */
export interface MessageShape {
  /** e.g. "berth.core.v1.Pod". */
  readonly name: string;
  readonly fields: readonly FieldShape[];
}

export interface FieldShape {
  readonly name: string;
  readonly id: number;
  /** A scalar, e.g. "int64", or what the descriptors call the message; of a map that of its values. */
  readonly type: string;
  readonly repeated: boolean;
  /** The type of a map's keys. */
  readonly keyType: string | undefined;
  /** The names of the other members of its oneof. */
  readonly rivals: readonly string[];
  /** Its fields are those of the message around it in the JSON form. */
  readonly inline: boolean;
  /** Of a time: it is one of microseconds, not of seconds. */
  readonly micro: boolean;
  /** The message that it holds; undefined for a scalar. */
  message(): MessageShape | undefined;
}

/** Messages and what is nested in them, in protobufjs' JSON form. */
export type PackageJson = Readonly<Record<string, Declared>>;

interface Declared {
  /** Of a service, which is no message. */
  readonly methods?: object;
  readonly fields?: Readonly<Record<string, DeclaredField>>;
  readonly oneofs?: Readonly<Record<string, { readonly oneof: readonly string[] }>>;
  readonly nested?: PackageJson;
}

interface DeclaredField {
  readonly type: string;
  readonly id: number;
  readonly rule?: string;
  readonly keyType?: string;
  readonly options?: Readonly<Record<string, unknown>>;
}

const INLINE = '(berth.meta.v1.inline)';
const MICRO_TIME = '(berth.meta.v1.micro_time)';
const scalars: ReadonlySet<string> = new Set(['bool', 'int32', 'uint32', 'int64', 'double', 'string', 'bytes']);
const parsed = new Map<string, PackageJson>();
const shapes = new Map<string, MessageShape>();

/** Adds a package that is none of the API's, e.g. of a kind that a test makes. */
export function definePackage(name: string, json: PackageJson): void {
  parsed.set(name, json);
}

/** The shape of a message by its full name. Throws for a name that the descriptors do not have. */
export function messageShape(name: string): MessageShape {
  const shape = findShape(name);
  if (shape === undefined) throw new Error(`no such type: ${name}`);
  return shape;
}

/** A field as the JSON form names it, behind the inlined fields that hold it; undefined when the message has none. */
export function shapesTo(shape: MessageShape, name: string): readonly FieldShape[] | undefined {
  const own = shape.fields.find((field) => field.name === name);
  if (own && !own.inline) return [own];
  for (const field of shape.fields) {
    const inner = field.inline ? shapesTo(field.message()!, name) : undefined;
    if (inner) return [field, ...inner];
  }
  return undefined;
}

function findShape(name: string): MessageShape | undefined {
  const known = shapes.get(name);
  if (known) return known;
  const declared = find(name);
  if (!declared?.fields) return undefined;
  const shape = {
    name,
    fields: Object.entries(declared.fields).map(([field, value]) => fieldShape(name, field, value, declared)),
  };
  shapes.set(name, shape);
  return shape;
}

/** What a package declares under a name; a package is parsed when something of it is first asked for. */
function find(name: string): Declared | undefined {
  for (let end = name.lastIndexOf('.'); end > 0; end = name.lastIndexOf('.', end - 1)) {
    const found = packageNamed(name.slice(0, end));
    if (found === undefined) continue;
    const [first = '', ...inner] = name.slice(end + 1).split('.');
    return inner.reduce((at: Declared | undefined, part) => own(at?.nested, part), own(found, first));
  }
  return undefined;
}

function packageNamed(name: string): PackageJson | undefined {
  const known = parsed.get(name);
  if (known) return known;
  const json = own(packages, name)?.json;
  if (json === undefined) return undefined;
  const found = JSON.parse(json) as PackageJson;
  parsed.set(name, found);
  return found;
}

/** Every object has a "constructor". */
function own<T>(values: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return values && Object.hasOwn(values, name) ? values[name] : undefined;
}

function fieldShape(
  message: string,
  name: string,
  { type, id, rule, keyType, options }: DeclaredField,
  { oneofs = {} }: Declared,
): FieldShape {
  const oneof = Object.values(oneofs).find((each) => each.oneof.includes(name))?.oneof ?? [];
  const rivals = oneof.filter((each) => each !== name);
  const resolve = scalars.has(type) ? () => undefined : () => resolved(message, name, type);
  const [inline, micro] = [Boolean(options?.[INLINE]), Boolean(options?.[MICRO_TIME])];
  return { name, id, type, repeated: rule === 'repeated', keyType, rivals, inline, micro, message: resolve };
}

/** As in a proto file a name is looked for in the message, then in what is around it. */
function resolved(message: string, field: string, type: string): MessageShape {
  for (let scope = message; scope !== ''; scope = scope.slice(0, Math.max(0, scope.lastIndexOf('.')))) {
    const found = findShape(`${scope}.${type}`);
    if (found) return found;
  }
  const found = findShape(type);
  if (found === undefined) throw new Error(`the codec does not know the type ${type} of ${message}.${field}: add it`);
  return found;
}
