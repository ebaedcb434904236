import protobuf, { type Field, type Type } from 'protobufjs';
import type { FieldViolation } from '../errors/api-error.ts';
import type { Kind } from '../kinds/kind.ts';
import { messageType } from './descriptors.ts';
import { INLINE, isJsonValue } from './json-fields.ts';
import { valueCodec } from './json-plan.ts';
import { JsonReader } from './json-reader.ts';

type Check = (value: unknown, at: JsonReader) => unknown;

/** The checks of the message types that were asked for; undefined where nothing below can be wrong. */
const checks = new Map<Type, Check | undefined>();

/**
 * What of a decoded object its JSON form could not say: amounts that are no quantities, times out of range, whole
 * numbers that are not exact. Reading JSON refuses them already; this judges by the same rules what came as protobuf,
 * and looks only where there is something to judge.
 */
export function findUnsayable(kind: Pick<Kind, 'message' | 'confidential'>, object: object): readonly FieldViolation[] {
  const at = new JsonReader({ showValues: !kind.confidential });
  checkOf(messageType(kind.message))?.(object, at);
  return at.violations;
}

function checkOf(type: Type): Check | undefined {
  if (checks.has(type)) return checks.get(type);
  // A message may contain itself.
  checks.set(type, (value, at) => checks.get(type)?.(value, at));
  const check = compile(type);
  checks.set(type, check);
  return check;
}

function compile(type: Type): Check | undefined {
  const fields = type.fieldsArray.flatMap((field) => {
    const check = fieldCheck(field.resolve());
    return check ? [{ name: field.name, inline: Boolean(field.options?.[INLINE]), check }] : [];
  });
  if (fields.length === 0) return undefined;
  return (message, at) => {
    for (const { name, inline, check } of fields) {
      const value = (message as Record<string, unknown>)[name];
      if (value === undefined) continue;
      if (inline) check(value, at);
      else at.within(name, value, check);
    }
  };
}

function fieldCheck(field: Field): Check | undefined {
  const check = valueCheck(field);
  if (!check) return undefined;
  if (field.map) return mapCheck(check);
  return field.repeated ? listCheck(check) : check;
}

function valueCheck(field: Field): Check | undefined {
  const { resolvedType } = field;
  return resolvedType instanceof protobuf.Type && !isJsonValue(resolvedType) ? checkOf(resolvedType) : valueCodec(field).check;
}

function listCheck(check: Check): Check {
  return (list, at) => {
    for (let i = 0; i < (list as unknown[]).length; i++) at.within(i, (list as unknown[])[i], check);
  };
}

function mapCheck(check: Check): Check {
  return (map, at) => {
    for (const key of Object.keys(map as object)) at.within(`[${key}]`, (map as Record<string, unknown>)[key], check);
  };
}
