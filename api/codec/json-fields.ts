import protobuf, { type Field, type Type } from 'protobufjs';

export const INLINE = '(berth.meta.v1.inline)';
const MICRO_TIME = '(berth.meta.v1.micro_time)';

/** The fields of a message as its JSON object has them: inlined messages give their own. */
export function jsonFields(type: Type): Field[] {
  return type.fieldsArray.flatMap((field) => {
    const { resolvedType } = field.resolve();
    return field.options?.[INLINE] && resolvedType instanceof protobuf.Type ? jsonFields(resolvedType) : [field];
  });
}

/** Messages that are one value in JSON, with what people call them. */
const values: Readonly<Record<string, string>> = {
  '.google.protobuf.Timestamp': 'Time',
  '.google.protobuf.Duration': 'Duration',
  '.berth.meta.v1.Quantity': 'Quantity',
  '.berth.meta.v1.IntOrString': 'IntOrString',
  '.berth.meta.v1.FieldsV1': 'FieldsV1',
  '.berth.meta.v1.RawExtension': 'Object',
  '.berth.authentication.v1.ExtraValue': '[]string',
  '.berth.authorization.v1.ExtraValue': '[]string',
  '.berth.certificates.v1.ExtraValue': '[]string',
};

const scalars: Readonly<Record<string, string>> = {
  string: 'string',
  bool: 'boolean',
  bytes: 'base64',
  double: 'number',
  float: 'number',
};

/** Whether a message is one value in JSON. */
export function isJsonValue(type: Type): boolean {
  return type.fullName in values;
}

/** The message whose fields stand below a field in JSON; undefined for values and maps. */
export function messageBelow(field: Field): Type | undefined {
  const { resolvedType } = field.resolve();
  return resolvedType instanceof protobuf.Type && !field.map && !isJsonValue(resolvedType) ? resolvedType : undefined;
}

/** The type of a field as people write it: "string", "[]Container", "map[string]Quantity". */
export function fieldTypeName(field: Field): string {
  const { resolvedType } = field.resolve();
  const single = resolvedType ? messageName(resolvedType.fullName, field) : (scalars[field.type] ?? 'integer');
  if (field.map) return `map[string]${single}`;
  return field.repeated ? `[]${single}` : single;
}

function messageName(fullName: string, field: Field): string {
  if (field.options?.[MICRO_TIME]) return 'MicroTime';
  return values[fullName] ?? fullName.slice(fullName.lastIndexOf('.') + 1);
}
