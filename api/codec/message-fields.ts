import type { Field, Type } from 'protobufjs';

const INLINE = '(berth.meta.v1.inline)';

/** A field as the JSON form names it, behind the inlined fields that hold it; undefined when the message has none. */
export function fieldsTo(type: Type, name: string): readonly Field[] | undefined {
  // Every plain object has a "constructor".
  const own = Object.hasOwn(type.fields, name) ? type.fields[name] : undefined;
  if (own && !own.options?.[INLINE]) return [own.resolve()];
  for (const field of type.fieldsArray) {
    if (!field.options?.[INLINE]) continue;
    const inner = fieldsTo(field.resolve().resolvedType as Type, name);
    if (inner) return [field, ...inner];
  }
  return undefined;
}
