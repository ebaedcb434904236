import { badRequest } from '../errors/index.ts';
import { isJsonObject, type Json } from '../meta/merge-patch.ts';
import type { Comparison, Operand, Part, Path, PathStep } from './parse.ts';

/** Everything that a path finds, in order; what is not there is left out. */
export function findAll(path: Path, root: Json, current: Json = root): Json[] {
  let found: Json[] = [path.fromRoot ? root : current];
  for (const step of path.steps) found = found.flatMap((value) => take(step, value, root));
  return found;
}

/** The same. Throws INVALID_ARGUMENT for a key that is not there. */
export function findStrictly(path: Path, root: Json, current: Json = root): Json[] {
  let found: Json[] = [path.fromRoot ? root : current];
  for (const step of path.steps)
    found = found.flatMap((value) => {
      const taken = take(step, value, root);
      if (step.type === 'key' && taken.length === 0) throw badRequest(`error executing jsonpath: ${step.name} is not found`);
      return taken;
    });
  return found;
}

/** How the paths of a template are read. */
type Find = typeof findAll;

/** A template filled in: values of one path are separated by a blank, objects and lists are JSON. */
export function fillTemplate(parts: readonly Part[], root: Json, current: Json = root, find: Find = findAll): string {
  return parts.map((part) => fillPart(part, root, current, find)).join('');
}

function fillPart(part: Part, root: Json, current: Json, find: Find): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'path':
      return find(part.path, root, current).map(valueText).join(' ');
    case 'range':
      return find(part.path, root, current)
        .map((item) => fillTemplate(part.body, root, item, find))
        .join('');
  }
}

/** The same, but everything that a path finds, and each text, is a list in JSON. */
export function fillAsJson(parts: readonly Part[], root: Json, current: Json = root, find: Find = findAll): string {
  const list = (values: Json[]): string => `${JSON.stringify(values, null, 4)}\n`;
  return parts
    .map((part) => {
      if (part.type === 'text') return list([part.text]);
      const found = find(part.path, root, current);
      return part.type === 'path' ? list(found) : found.map((item) => fillAsJson(part.body, root, item, find)).join('');
    })
    .join('');
}

export function valueText(value: Json): string {
  if (value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function take(step: PathStep, value: Json, root: Json): Json[] {
  switch (step.type) {
    case 'key':
      return field(value, step.name, step.quoted);
    case 'everything':
      return children(value);
    case 'anywhere':
      return descendants(value);
    case 'slice':
      return Array.isArray(value) ? slice(value, step) : [];
    case 'union':
      return step.steps.flatMap((each) => take(each, value, root));
    case 'filter':
      return (Array.isArray(value) ? value : []).filter((item) => matches(step, item, root));
  }
}

/** A quoted name with dots is a field of that name, or else the path that it spells, as kubectl reads it. */
function field(value: Json, name: string, quoted: boolean): Json[] {
  if (!isJsonObject(value)) return [];
  if (Object.hasOwn(value, name)) return [value[name] as Json];
  if (!quoted || !name.includes('.')) return [];
  return name.split('.').reduce<Json[]>((found, each) => found.flatMap((inner) => field(inner, each, false)), [value]);
}

function children(value: Json): Json[] {
  if (Array.isArray(value)) return value;
  return isJsonObject(value) ? Object.values(value) : [];
}

function descendants(value: Json): Json[] {
  return [value, ...children(value).flatMap(descendants)];
}

function slice(
  list: readonly Json[],
  { from, to, by }: { from: number | undefined; to: number | undefined; by: number },
): Json[] {
  return list.slice(from, to).filter((_, at) => at % by === 0);
}

function matches(step: Extract<PathStep, { type: 'filter' }>, item: Json, root: Json): boolean {
  const left = values(step.left, item, root);
  if (!step.comparison || !step.right) return left.length > 0;
  const right = values(step.right, item, root);
  return left.some((a) => right.some((b) => compare(a, step.comparison as Comparison, b)));
}

function values(operand: Operand, item: Json, root: Json): Json[] {
  return 'path' in operand ? findAll(operand.path, root, item) : [operand.literal];
}

function compare(a: Json, comparison: Comparison, b: Json): boolean {
  if (comparison === '==') return a === b;
  if (comparison === '!=') return a !== b;
  const order = orderOf(a, b);
  if (order === undefined) return false;
  switch (comparison) {
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    case '>=':
      return order >= 0;
  }
}

/** Below, at or above 0; numbers compare with numbers and texts with texts, nothing else does. */
function orderOf(a: Json, b: Json): number | undefined {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return typeof a === 'string' && typeof b === 'string' ? (a < b ? -1 : Number(a > b)) : undefined;
}
