import protobuf, { type Field, type Type } from 'protobufjs';
import { messageType } from '../../api/codec/descriptors.ts';
import { isJsonValue, jsonFields } from '../../api/codec/json-fields.ts';
import type { ObjectType } from './environment.ts';
import { escapeName } from './escape.ts';
import type { SchemaTypes } from './schema-types.ts';

const SCALARS: Readonly<Record<string, string>> = {
  string: 'string',
  bool: 'bool',
  bytes: 'bytes',
  double: 'double',
  float: 'double',
};

/** Messages that are one value in JSON. Of a quantity, a number or text, and of any object the type is not known. */
const VALUES: Readonly<Record<string, string>> = {
  '.google.protobuf.Timestamp': 'google.protobuf.Timestamp',
  '.google.protobuf.Duration': 'string',
  '.berth.authentication.v1.ExtraValue': 'list<string>',
  '.berth.authorization.v1.ExtraValue': 'list<string>',
  '.berth.certificates.v1.ExtraValue': 'list<string>',
};

const OBJECT_META = 'berth.meta.v1.ObjectMeta';

/**
 * The CEL type of the JSON form of a message, and the object types that it needs. `isResource`: it is a whole object,
 * which has apiVersion and kind. A field that holds its own message again, at any depth, is dyn.
 */
export function messageTypes(message: string, isResource: boolean): SchemaTypes {
  const making = new TypesOfMessages();
  const type = making.ofMessage(messageType(message), isResource ? { apiVersion: 'string', kind: 'string' } : {});
  return { type, types: making.types };
}

/** Adds the whole metadata to the types of a schema, whose own rules see only name and generateName. */
export function withObjectMeta({ type, types }: SchemaTypes): SchemaTypes {
  const metadata = messageTypes(OBJECT_META, false);
  const completed = types.map((each) =>
    each.name === type ? { ...each, fields: { ...each.fields, metadata: metadata.type } } : each,
  );
  return { type, types: [...metadata.types, ...completed] };
}

class TypesOfMessages {
  /** Types stand behind those that they name. */
  readonly types: ObjectType[] = [];
  readonly #made = new Map<string, string>();

  ofMessage(message: Type, more: Readonly<Record<string, string>> = {}): string {
    const known = this.#made.get(message.fullName);
    if (known !== undefined) return known;
    this.#made.set(message.fullName, 'dyn');
    const fields: Record<string, string> = { ...more };
    for (const field of jsonFields(message)) {
      const name = escapeName(field.name);
      if (name !== undefined) fields[name] = this.#ofField(field);
    }
    const name = message.fullName.replace(/^\.berth\./, '');
    this.types.push({ name, fields });
    this.#made.set(message.fullName, name);
    return name;
  }

  #ofField(field: Field): string {
    if (field.map) return `map<string, ${this.#single(field)}>`;
    return field.repeated ? `list<${this.#single(field)}>` : this.#single(field);
  }

  #single(field: Field): string {
    const { resolvedType } = field.resolve();
    if (resolvedType instanceof protobuf.Enum) return 'string';
    if (resolvedType) return isJsonValue(resolvedType) ? (VALUES[resolvedType.fullName] ?? 'dyn') : this.ofMessage(resolvedType);
    return field.options?.['(berth.meta.v1.raw_json)'] ? 'dyn' : (SCALARS[field.type] ?? 'int');
  }
}
