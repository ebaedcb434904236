import { atomic, deduced, type FieldType, type ListMapType, type MapType, set } from '../../api/apply/field-type.ts';
import { typeOfMessage } from '../../api/codec/message-type.ts';
import type { Json } from '../../api/meta/merge-patch.ts';
import type { SchemaNode } from './schema-node.ts';

const METADATA = 'berth.meta.v1.ObjectMeta';

/**
 * What server-side apply needs to know of a schema: objects are merged member by member, except those of the map type
 * atomic; lists are one value, except those of the list types map and set. What the schema keeps without knowing it is
 * merged as objects without a schema are. Lazy: most objects are never applied by a server.
 */
export function fieldTypeOf(node: SchemaNode): FieldType {
  const { intOrString, type, additionalProperties, mapType } = node;
  if (intOrString) return atomic;
  if (type === 'array') return listTypeOf(node);
  if (type === undefined) return node.preserveUnknownFields ? deduced : atomic;
  if (type !== 'object' || mapType === 'atomic') return atomic;
  if (additionalProperties === true) return deduced;
  return new SchemaMap(node);
}

/** The same of the schema of a kind: the members that every object has are known, whatever it says. */
export function fieldTypeOfKind(root: SchemaNode): MapType {
  return new SchemaMap({ ...root, embeddedResource: true });
}

class SchemaMap implements MapType {
  readonly kind = 'map';
  readonly #node: SchemaNode;
  readonly #members = new Map<string, FieldType>();
  #other: { readonly type: FieldType | undefined } | undefined;

  constructor(node: SchemaNode) {
    this.#node = node;
  }

  member(name: string): FieldType | undefined {
    if (!this.declares(name)) {
      this.#other ??= { type: otherMembers(this.#node) };
      return this.#other.type;
    }
    let known = this.#members.get(name);
    if (known === undefined) {
      known = this.#declared(name);
      this.#members.set(name, known);
    }
    return known;
  }

  declares(name: string): boolean {
    return this.#isOfEveryObject(name) || this.#node.properties?.has(name) === true;
  }

  #isOfEveryObject(name: string): boolean {
    return this.#node.embeddedResource && (name === 'metadata' || name === 'apiVersion' || name === 'kind');
  }

  #declared(name: string): FieldType {
    if (this.#isOfEveryObject(name)) return name === 'metadata' ? typeOfMessage(METADATA) : atomic;
    return fieldTypeOf(this.#node.properties!.get(name)!);
  }
}

/** The type of members that the schema does not name. */
function otherMembers({ additionalProperties, preserveUnknownFields }: SchemaNode): FieldType | undefined {
  if (additionalProperties === true) return deduced;
  if (additionalProperties !== undefined) return fieldTypeOf(additionalProperties);
  return preserveUnknownFields ? deduced : undefined;
}

function listTypeOf({ listType, listMapKeys = [], items }: SchemaNode): FieldType {
  if (listType === 'set') return set;
  if (listType !== 'map' || items === undefined) return atomic;
  const keys = [...listMapKeys].sort();
  const defaults = Object.fromEntries(
    keys.flatMap((key): [string, Json][] => {
      const value = items.properties?.get(key)?.default;
      return value === undefined ? [] : [[key, value]];
    }),
  );
  let item: FieldType | undefined;
  const list: ListMapType = {
    kind: 'listMap',
    keys,
    defaults,
    item() {
      item ??= fieldTypeOf(items);
      return item;
    },
  };
  return list;
}
