import type { Kind } from '../../api/kinds/kind.ts';
import { isJsonObject, type JsonObject } from '../../api/meta/merge-patch.ts';
import { withoutNoise } from '../../api/meta/version-noise.ts';
import { yamlText } from '../printers/objects.ts';
import { unifiedDiff } from './unified-diff.ts';

/** One of the two states that are compared: what it is called, and the object, if there was one. */
export interface Side {
  /** e.g. "LIVE". */
  readonly name: string;
  /** e.g. a time; stands behind the name. */
  readonly note: string;
  readonly object: JsonObject | undefined;
}

/**
 * Two states of an object as `diff -u` compares their YAML; empty when they are equal.
 * Values of secrets are masked. Pure.
 */
export function objectDiff(kind: Kind, before: Side, after: Side): string {
  const [old, now] = kind.confidential ? masked(before.object, after.object) : [before.object, after.object];
  const file = fileName(kind, (before.object ?? after.object)!);
  const heading = (side: Side): string => `${side.name}/${file}\t${side.note}`;
  const text = unifiedDiff(textOf(old), textOf(now), { before: heading(before), after: heading(after) });
  return text === '' ? '' : `diff -u -N ${before.name}/${file} ${after.name}/${file}\n${text}`;
}

function textOf(object: JsonObject | undefined): string {
  return object ? yamlText(withoutNoise(object)) : '';
}

/** "v1.Pod.default.web", as kubectl names the files that it compares. */
function fileName({ apiVersion, kind }: Kind, object: JsonObject): string {
  const { namespace, name } = (object.metadata ?? {}) as { namespace?: string; name?: string };
  return [...apiVersion.split('/'), kind, ...(namespace ? [namespace] : []), name].join('.');
}

/** Which values have changed is told, what they are is not. */
function masked(before: JsonObject | undefined, after: JsonObject | undefined): [JsonObject | undefined, JsonObject | undefined] {
  return [maskOne(before, after, 'before'), maskOne(after, before, 'after')];
}

function maskOne(object: JsonObject | undefined, other: JsonObject | undefined, side: string): JsonObject | undefined {
  if (!object) return undefined;
  const next: JsonObject = { ...object };
  for (const field of ['data', 'stringData']) {
    const values = object[field];
    if (!isJsonObject(values)) continue;
    const others = isJsonObject(other?.[field]) ? other[field] : {};
    const mask = (key: string): string => (key in others && others[key] !== values[key] ? `*** (${side})` : '***');
    next[field] = Object.fromEntries(Object.keys(values).map((key) => [key, mask(key)]));
  }
  return next;
}
