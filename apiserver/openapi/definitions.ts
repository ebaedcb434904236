import protobuf, { type Field } from 'protobufjs';
import { isAtomicField } from '../../api/codec/atomic-fields.ts';
import { messageType } from '../../api/codec/descriptors.ts';
import { jsonFields } from '../../api/codec/json-fields.ts';
import { definitionName, MICRO_TIME } from './definition-names.ts';
import { type Comments, repeatedComments } from './repeated-comments.ts';
import { requiredFields } from './required-fields.ts';

/** A schema in JSON form. */
export type Schema = { [member: string]: unknown };
/** The version of OpenAPI: how some schemas are written depends on it. */
export type OpenApiVersion = 2 | 3;

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export const GVK = 'x-kubernetes-group-version-kind';

/** A definition: its schema, and the messages whose definitions it refers to. */
export interface Definition {
  readonly schema: Schema;
  readonly uses: readonly string[];
}

const scalars: Readonly<Record<string, Schema>> = {
  string: { type: 'string' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  uint32: { type: 'integer', format: 'int64' },
  double: { type: 'number', format: 'double' },
  float: { type: 'number', format: 'float' },
  bytes: { type: 'string', format: 'byte' },
};

/** What every object says of its kind. */
export const rootMembers: Readonly<Record<string, Schema>> = {
  apiVersion: { type: 'string', description: 'APIVersion defines the group and the version that the object is written in.' },
  kind: { type: 'string', description: 'Kind is the name of what the object is.' },
};

/** A reference, with what is said of the field that it stands in. */
export function reference(name: string, version: OpenApiVersion, description?: string): Schema {
  const $ref = `#/${version === 2 ? 'definitions' : 'components/schemas'}/${name}`;
  if (description === undefined) return { $ref };
  return version === 2 ? { description, $ref } : { description, allOf: [{ $ref }] };
}

export const LIST_META = 'berth.meta.v1.ListMeta';
export const DELETE_OPTIONS = 'berth.meta.v1.DeleteOptions';
/** What has no message here. */
export const STATUS = 'berth.meta.v1.Status';
export const PATCH = 'berth.meta.v1.Patch';

const statusSchema: Schema = {
  type: 'object',
  properties: {
    ...rootMembers,
    code: { type: 'integer', format: 'int32', description: 'The status of HTTP.' },
    details: { type: 'object', description: 'What the answer is about, and why.' },
    message: { type: 'string', description: 'What happened, for people.' },
    metadata: { type: 'object', description: 'Empty.' },
    reason: { type: 'string', description: 'Why, as one word.' },
    status: { type: 'string', description: '"Success" or "Failure".' },
  },
  [GVK]: [{ group: '', version: 'v1', kind: 'Status' }],
};

/** How a list merges, in server-side apply and in a strategic patch. */
function listRules(field: Field): Schema {
  const { options = {} } = field;
  const type = options['(berth.meta.v1.list_type)'];
  const keys = [(options['(berth.meta.v1.list_map_key)'] ?? []) as string | string[]].flat();
  const patch = options['(berth.meta.v1.patch)'];
  const [strategy, key] = typeof patch === 'string' ? patch.split(':') : [];
  return {
    'x-kubernetes-list-type': type ?? 'atomic',
    ...(keys.length > 0 && { 'x-kubernetes-list-map-keys': keys }),
    ...(strategy && { 'x-kubernetes-patch-strategy': strategy }),
    ...(key && { 'x-kubernetes-patch-merge-key': key }),
  };
}

/** How a message merges in a strategic patch: clients that compute one keep to it. */
function withPatchRule(schema: Schema, { options = {} }: Field, version: OpenApiVersion): Schema {
  const strategy = options['(berth.meta.v1.patch)'];
  if (typeof strategy !== 'string') return schema;
  // Beside a bare reference, version 3 says nothing.
  const isBare = version === 3 && schema.$ref !== undefined;
  return { ...(isBare ? { allOf: [schema] } : schema), 'x-kubernetes-patch-strategy': strategy };
}

/** What is said of a field; that the client writes it is true of nearly all, and `kubectl explain` says it of none. */
function described(comment: string | undefined): string | undefined {
  return comment?.replace(/ Written by the client\.$/, '');
}

/** Makes the definitions of messages, each as its JSON form looks. */
export class DefinitionMaker {
  readonly #version: OpenApiVersion;
  readonly #comments: Comments;

  constructor(version: OpenApiVersion, comments: Comments) {
    this.#version = version;
    this.#comments = comments;
  }

  /** Of a message; `gvk` is given for one that is a whole object. */
  ofMessage(message: string, gvk?: GroupVersionKind): Definition {
    const value = this.#valueSchema(message);
    // What is an object of its own is described alone, too.
    const isRepeated = gvk === undefined && repeatedComments(this.#comments).has(message);
    const description = isRepeated ? undefined : this.#comments[message]?.[''];
    if (value) return { schema: { ...(description && { description }), ...value }, uses: [] };
    const type = messageType(message);
    const fields = jsonFields(type);
    const uses = new Set<string>();
    const properties: Schema = gvk ? { ...rootMembers } : {};
    for (const field of fields) properties[field.name] = this.#field(field, uses);
    const names = new Set(fields.map(({ name }) => name));
    const required = requiredFields(message).filter((name) => names.has(name));
    const schema = {
      ...(description && { description }),
      type: 'object',
      ...(required.length > 0 && { required: required.sort() }),
      properties,
      ...(gvk && { [GVK]: [gvk] }),
    };
    return { schema, uses: [...uses] };
  }

  /** Of a list of objects of a kind. */
  ofList(item: string, gvk: GroupVersionKind): Definition {
    const schema = {
      description: `A page of objects of the kind ${gvk.kind}.`,
      type: 'object',
      required: ['items'],
      properties: {
        ...rootMembers,
        items: { type: 'array', description: 'The objects.', items: reference(item, this.#version) },
        metadata: reference(definitionName(LIST_META), this.#version, 'What is known of the page.'),
      },
      [GVK]: [{ ...gvk, kind: `${gvk.kind}List` }],
    };
    return { schema, uses: [LIST_META] };
  }

  #valueSchema(message: string): Schema | undefined {
    switch (message) {
      case 'google.protobuf.Timestamp':
      case MICRO_TIME:
        return { type: 'string', format: 'date-time' };
      case 'google.protobuf.Duration':
        return { type: 'string' };
      case 'berth.meta.v1.Quantity':
        return this.#version === 2 ? { type: 'string' } : { oneOf: [{ type: 'string' }, { type: 'number' }] };
      case 'berth.meta.v1.IntOrString':
        if (this.#version === 2) return { type: 'string', format: 'int-or-string' };
        return { format: 'int-or-string', oneOf: [{ type: 'integer' }, { type: 'string' }] };
      case 'berth.meta.v1.FieldsV1':
      case 'berth.meta.v1.RawExtension':
      case PATCH:
        return { type: 'object' };
      case STATUS:
        return statusSchema;
      default:
        return undefined;
    }
  }

  #field(field: Field, uses: Set<string>): Schema {
    const description = described(this.#comments[field.parent?.fullName.slice(1) ?? '']?.[field.name]);
    const said = description === undefined ? {} : { description };
    if (field.map)
      return {
        ...said,
        type: 'object',
        additionalProperties: this.#single(field, uses),
        ...(isAtomicField(field) && { 'x-kubernetes-map-type': 'atomic' }),
      };
    if (field.repeated) return { ...said, type: 'array', items: this.#single(field, uses), ...listRules(field) };
    return withPatchRule(this.#single(field, uses, description), field, this.#version);
  }

  #single(field: Field, uses: Set<string>, description?: string): Schema {
    const { resolvedType } = field.resolve();
    const said = description === undefined ? {} : { description };
    if (resolvedType instanceof protobuf.Enum) return { ...said, type: 'string', enum: Object.keys(resolvedType.values) };
    if (!resolvedType) {
      if (field.options?.['(berth.meta.v1.raw_json)']) return said;
      return { ...said, ...scalars[field.type] };
    }
    const message = field.options?.['(berth.meta.v1.micro_time)'] ? MICRO_TIME : resolvedType.fullName.slice(1);
    uses.add(message);
    return reference(definitionName(message), this.#version, description);
  }
}
