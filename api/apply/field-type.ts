import { isJsonObject, type Json } from '../meta/merge-patch.ts';

/**
 * What server-side apply needs to know of the value at a path: how it is merged, and what is owned by itself. The
 * built-in kinds have theirs from their messages (message-type.ts); other schemas can be handed in.
 */
export type FieldType = AtomicType | MapType | ListMapType | SetType | DeducedType;

/** A scalar, or a map or a list that is one value: it has one owner and is replaced as a whole. */
export interface AtomicType {
  readonly kind: 'atomic';
}

/** An object whose members are merged. */
export interface MapType {
  readonly kind: 'map';
  /** The type of a member; undefined for one that the schema does not have. */
  member(name: string): FieldType | undefined;
  /** Whether the schema names the member: false for the keys of a map of the user's. */
  declares(name: string): boolean;
}

/** A list whose items are objects, told apart by the values of their keys. */
export interface ListMapType {
  readonly kind: 'listMap';
  /** In alphabetical order. */
  readonly keys: readonly string[];
  /** What a key means that an item leaves out. A key without such a value is required. */
  readonly defaults: Readonly<Record<string, Json>>;
  item(): FieldType;
}

/** A list of values, each of which is there or not. */
export interface SetType {
  readonly kind: 'set';
}

/** No schema: objects are merged member by member, lists are one value. */
export interface DeducedType {
  readonly kind: 'deduced';
}

export const atomic: AtomicType = { kind: 'atomic' };
export const set: SetType = { kind: 'set' };
export const deduced: DeducedType = { kind: 'deduced' };

const deducedMap: MapType = { kind: 'map', member: () => deduced, declares: () => false };

/** How one value of a type is treated: a value of another form than the type's is one value. */
export function typeOfValue(type: FieldType | undefined, value: Json | undefined): Exclude<FieldType, DeducedType> {
  const known = type ?? deduced;
  if (known.kind === 'deduced') return isJsonObject(value) ? deducedMap : atomic;
  if (value === null || value === undefined || known.kind === 'atomic') return known;
  return (known.kind === 'map' ? isJsonObject(value) : Array.isArray(value)) ? known : atomic;
}
