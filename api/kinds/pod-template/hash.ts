import { heldMessages, messageFieldsOf } from '../../codec/canonical.ts';
import { messageToJson } from '../../codec/json.ts';
import { type MessageShape, messageShape } from '../../codec/message-shapes.ts';
import type { PodTemplateSpec } from '../../generated/types.ts';
import { equalValues } from '../../meta/equal.ts';
import { safeText } from '../../meta/names.ts';
import { defaultTemplate } from './defaults.ts';
import { meaningOf } from './meaning.ts';

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * A short text for what a template means, to stand in names and labels: templates that are equal (`templatesEqual`)
 * have the same one. A later version of Berth gives the same: values that are defaults do not count, whether they are
 * written down or not; but that of a template of more than `mostTried` values is for this version alone, which is as
 * good where templates are compared before names. `collisionCount` gives another text when the first is taken. Costs
 * about a millisecond, tens of them for a template with hundreds of fields.
 */
export function computeTemplateHash(template: PodTemplateSpec, collisionCount?: number, defaults = defaultTemplate): string {
  const full = meaningOf(template, defaults);
  const meant = countValues(full) > mostTried ? full : leastOf(full, defaults);
  const text = textOf(meant);
  const collisions = Buffer.alloc(collisionCount === undefined ? 0 : 8);
  if (collisionCount !== undefined) collisions.writeUInt32LE(collisionCount);
  return safeText(String(fnv1a(Buffer.concat([Buffer.from(text), collisions]))));
}

/** A text that templates of the same meaning share (`templatesEqual`), and no others; in this version of Berth. */
export function templateText(template: PodTemplateSpec): string {
  return textOf(meaningOf(template));
}

const textOf = (template: PodTemplateSpec): string => JSON.stringify(sorted(messageToJson(TEMPLATE, template)));

/** FNV-1a with 32 bits. */
function fnv1a(bytes: Uint8Array): number {
  let hash = FNV_OFFSET;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, FNV_PRIME);
  return hash >>> 0;
}

/** JSON whose text does not depend on the order in which members were set. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, each]) => [key, sorted(each)]));
}

const TEMPLATE = 'berth.core.v1.PodTemplateSpec';
const VALUES: ReadonlySet<string> = new Set(['berth.meta.v1.Quantity', 'berth.meta.v1.IntOrString', 'google.protobuf.Timestamp']);

/** Templates that people write have hundreds. */
const mostTried = 10_000;

/** Of a message, those within others included. */
export function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return 1;
  let count = 1;
  for (const each of Array.isArray(value) ? value : Object.values(value)) count += countValues(each);
  return count;
}

type Members = Record<string, unknown>;
/** A step is the name of a member; the items of a list are all meant. */
type Path = readonly string[];

/**
 * The least that has the meaning of a template. What is a default is found out by trying: a value that the defaults
 * bring back is one. So there is no second list of defaults, which could differ from the first.
 */
export function withoutDefaults(template: PodTemplateSpec, defaults = defaultTemplate): PodTemplateSpec {
  return leastOf(meaningOf(template, defaults), defaults);
}

/**
 * Each path is tried on a whole copy: a template of 1 MB would take ten seconds, in which its process does nothing
 * else.
 */
function leastOf(full: PodTemplateSpec, defaults: (template: PodTemplateSpec) => void): PodTemplateSpec {
  const least = clone(full);
  // The deepest first: a message whose fields are all defaults may be one itself.
  const paths = pathsOf(full).toSorted((a, b) => b.length - a.length || compare(a.join(), b.join()));
  for (const path of paths) {
    const trial = clone(least);
    forEachHolder(path, [trial], ([holder], name) => delete holder[name]);
    defaults(trial);
    forEachHolder(path, [least, trial, full], ([holder, tried, wanted], name) => {
      if (tried?.[name] !== undefined && equalValues(tried[name], wanted?.[name])) delete holder[name];
    });
  }
  return least;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Of plain values; many times faster than structuredClone. */
function clone<T>(value: T): T {
  if (Array.isArray(value)) return value.map(clone) as T;
  if (!isMembers(value)) return value;
  const copy: Members = {};
  for (const name of Object.keys(value)) copy[name] = clone(value[name]);
  return copy as T;
}

/** The paths of all fields that are set, each once. A map is one value, and so is a message that is one in JSON. */
function pathsOf(template: PodTemplateSpec): Path[] {
  const found = new Map<string, Path>();
  const visit = (shape: MessageShape, message: Members, path: Path): void => {
    const holders = messageFieldsOf(shape);
    for (const name of Object.keys(message)) {
      const inner = [...path, name];
      found.set(inner.join(), inner);
      const field = holders.get(name);
      if (!field || field.keyType !== undefined || VALUES.has(field.message()!.name)) continue;
      for (const held of heldMessages(field, message[name])) visit(field.message()!, held as Members, inner);
    }
  };
  visit(messageShape(TEMPLATE), template as Members, []);
  return [...found.values()];
}

/** Goes to each place where the last step of a path may stand, in several values of one structure at once. */
function forEachHolder(
  path: Path,
  values: readonly [unknown, ...unknown[]],
  act: (holders: readonly [Members, ...(Members | undefined)[]], name: string) => void,
): void {
  const [first, ...others] = values;
  if (Array.isArray(first)) {
    first.forEach((item, i) => {
      forEachHolder(path, [item, ...others.map((other) => (Array.isArray(other) ? other[i] : undefined))], act);
    });
    return;
  }
  const [name, ...rest] = path;
  if (!isMembers(first) || name === undefined || !Object.hasOwn(first, name)) return;
  const members = others.map((other) => (isMembers(other) ? other : undefined));
  if (rest.length === 0) act([first, ...members], name);
  else forEachHolder(rest, [first[name], ...members.map((other) => other?.[name])], act);
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}
