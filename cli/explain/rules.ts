import type { Field } from 'protobufjs';
import { readObject } from '../../api/codec/json.ts';
import type { FieldViolation } from '../../api/errors/index.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import { validateMetadata } from '../../api/kinds/metadata.ts';
import { tablePath } from './locate.ts';

/** What the rules of a kind say of a field. */
export interface FieldRules {
  /** Whether it must be given wherever its parent stands. */
  readonly required: boolean;
  /** The values it may have; empty: all of its type. */
  readonly values: readonly string[];
}

/** No field has it as one of a few allowed values. */
const strange = 'no-such-value';

/**
 * Finds out what a kind demands of a field by asking its own validation: once about an object in which only the parent
 * of the field stands, and once about one in which the field has a value that is none. Nothing is written down twice
 * that way.
 */
export function computeRules(kind: Kind, steps: readonly Field[]): FieldRules {
  const last = steps.at(-1);
  if (last === undefined || last.map) return { required: false, values: [] };
  const path = tablePath(steps).replace(/\[\]$/, '');
  const asksFor = (violation: FieldViolation): boolean => violation.field.replace(/\[\d+\]/g, '[]') === path;
  const missing = violationsOf(kind, objectWith(steps, undefined)).filter(asksFor);
  const wrong = last.type === 'string' && !last.repeated ? violationsOf(kind, objectWith(steps, strange)).filter(asksFor) : [];
  return {
    required: missing.some(({ reason }) => reason === 'FieldValueRequired'),
    values: wrong.filter(({ reason }) => reason === 'FieldValueNotSupported').flatMap(allowedValues),
  };
}

/** What the sentence lists in quotation marks, but the value that we gave. */
function allowedValues({ description }: FieldViolation): string[] {
  const quoted = description.match(/"[^"]*"/g) ?? [];
  return quoted.map((each) => JSON.parse(each) as string).filter((each) => each !== strange);
}

/** An object in JSON form in which everything above the field stands, and the field with the value, if there is one. */
function objectWith(steps: readonly Field[], value: string | undefined): object {
  return steps.toReversed().reduce<object | string | undefined>((inner, field, at) => {
    if (at === 0 && inner === undefined) return {};
    return { [field.name]: field.repeated ? [inner] : inner };
  }, value) as object;
}

/** Every rule that the object breaks, with the defaults in it: a field with a default is not required. */
function violationsOf(kind: Kind, json: object): readonly FieldViolation[] {
  const { value } = readObject<ApiObject>(kind, json);
  // A name may be left to the server, and the namespace to the sender of the object.
  value.metadata = { name: 'some-name', ...(kind.namespaced && { namespace: 'default' }), ...value.metadata };
  kind.defaults(value);
  return [...validateMetadata(kind, value.metadata), ...kind.validate(value)];
}
