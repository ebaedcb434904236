import type { Field, Type } from 'protobufjs';
import { atomic, deduced, type FieldType, type ListMapType, type MapType, set } from '../apply/field-type.ts';
import { isAtomicField, keyDefaults } from './atomic-fields.ts';
import { messageType } from './descriptors.ts';
import { isJsonValue, jsonFields, messageBelow } from './json-fields.ts';
import { isOpen } from './open-message.ts';

const LIST_TYPE = '(berth.meta.v1.list_type)';
const LIST_KEYS = '(berth.meta.v1.list_map_key)';

const types = new Map<string, MapType>();

/** What server-side apply needs to know of the JSON form of a message; made once, on first use. */
export function typeOfMessage(name: string): MapType {
  return mapOf(messageType(name));
}

function mapOf(type: Type): MapType {
  let known = types.get(type.fullName);
  if (!known) {
    known = new MessageMap(type);
    types.set(type.fullName, known);
  }
  return known;
}

/** Lazy, because messages contain each other. */
class MessageMap implements MapType {
  readonly kind = 'map';
  readonly #type: Type;
  #members: Map<string, FieldType> | undefined;

  constructor(type: Type) {
    this.#type = type;
  }

  member(name: string): FieldType | undefined {
    return this.#known().get(name) ?? (isOpen(this.#type.fullName.slice(1)) ? deduced : undefined);
  }

  declares(name: string): boolean {
    return this.#known().has(name);
  }

  #known(): Map<string, FieldType> {
    this.#members ??= new Map(jsonFields(this.#type).map((field) => [field.name, typeOfField(field)]));
    return this.#members;
  }
}

/** What server-side apply needs to know of a field. */
export function typeOfField(field: Field): FieldType {
  if (field.map) return isAtomicField(field) ? atomic : keyedBy(field);
  const below = messageBelow(field);
  if (!field.repeated) return below && !isAtomicField(field) ? mapOf(below) : atomic;
  const kind: unknown = field.options?.[LIST_TYPE];
  if (kind === 'set') return set;
  return kind === 'map' && below ? listOf(field, below) : atomic;
}

/** A map of the user's keys. */
function keyedBy(field: Field): MapType {
  const { resolvedType } = field.resolve();
  const value: FieldType =
    resolvedType && 'fieldsArray' in resolvedType && !isJsonValue(resolvedType) ? mapOf(resolvedType) : atomic;
  return { kind: 'map', member: () => value, declares: () => false };
}

function listOf(field: Field, below: Type): ListMapType {
  const keys = [(field.options?.[LIST_KEYS] ?? []) as string | string[]].flat().sort();
  const item = isAtomicField(field) ? atomic : mapOf(below);
  return { kind: 'listMap', keys, defaults: keyDefaults(below, keys), item: () => item };
}
