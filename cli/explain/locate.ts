import type { Field, Type } from 'protobufjs';
import { messageType } from '../../api/codec/descriptors.ts';
import { jsonFields, messageBelow } from '../../api/codec/json-fields.ts';
import { nearestWord } from '../../api/codec/nearest.ts';
import { badRequest } from '../../api/errors/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { knownKinds } from '../args/other-kinds.ts';
import { resolveKind } from '../args/resource-args.ts';

/** A field of a kind as users write it, or the kind itself (no steps). */
export interface Place {
  readonly kind: Kind;
  /** From the kind to the field. */
  readonly steps: readonly Field[];
}

/**
 * Reads "pod.spec.containers"; list brackets as in "containers[0]" or "containers[]" mean nothing.
 * Throws for what does not exist.
 */
export function locate(path: string, apiVersion?: string): Place {
  const { kind, names } = readPath(path, apiVersion);
  return locateIn(kind, names);
}

/** The place of a field of a kind, by the names of the fields down to it. Throws for what does not exist. */
export function locateIn(kind: Kind, names: readonly string[]): Place {
  const steps: Field[] = [];
  for (const name of names) {
    const type = below({ kind, steps });
    const fields = type === undefined ? [] : jsonFields(type);
    const field = fields.find((each) => each.name === name);
    if (field === undefined)
      throw noField(
        pathText({ kind, steps }),
        name,
        fields.map((each) => each.name),
      );
    steps.push(field);
  }
  return { kind, steps };
}

/**
 * The kind that a path begins with, in this version if one is given, and the names of the fields behind it. Throws for
 * a kind or version that does not exist.
 */
export function readPath(path: string, apiVersion?: string): { readonly kind: Kind; readonly names: readonly string[] } {
  const { noun, names } = splitPath(path);
  return { kind: inVersion(resolveKind(noun), apiVersion), names };
}

/** The word for the kind that a path begins with, and the names of the fields behind it. Pure. */
export function splitPath(path: string): { readonly noun: string; readonly names: readonly string[] } {
  const [noun = '', ...names] = path.split('.').map((step) => step.replace(/\[\w*\]$/, ''));
  return { noun, names: names.filter((each, at) => each !== '' || at < names.length - 1) };
}

function inVersion(kind: Kind, apiVersion: string | undefined): Kind {
  const versions = knownKinds().filter((each) => each.kind === kind.kind);
  const found = apiVersion === undefined ? kind : versions.find((each) => each.apiVersion === apiVersion);
  if (found) return found;
  const known = versions.map((each) => `"${each.apiVersion}"`).join(' or ');
  throw badRequest(`${kind.plural} have no version "${apiVersion}": use ${known}`);
}

/** The error for a field that a place does not have; `names` are those that it has. */
export function noField(where: string, name: string, names: readonly string[]): Error {
  if (names.length === 0) return badRequest(`"${where}" is a value; it has no field "${name}"`);
  const meant = nearestWord(name, names);
  const hint = meant === undefined ? `it has ${names.join(', ')}` : `did you mean "${meant}"?`;
  return badRequest(`"${where}" has no field "${name}"; ${hint}`);
}

/** The message whose fields stand below a place; undefined for a value. */
export function below({ kind, steps }: Place): Type | undefined {
  const last = steps.at(-1);
  return last === undefined ? messageType(kind.message) : messageBelow(last);
}

/** "pod.spec.containers". */
export function pathText({ kind, steps }: Place): string {
  return [kind.singular, ...steps.map((field) => field.name)].join('.');
}

/** As field tables write it: "spec.containers[].image"; empty for the kind itself. */
export function tablePath(steps: readonly Field[]): string {
  return steps.map((field) => `${field.name}${field.repeated && !field.map ? '[]' : ''}`).join('.');
}
