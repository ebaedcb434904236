import { badRequest } from '../errors/index.ts';
import { isJsonObject, type Json } from '../meta/merge-patch.ts';
import type { Comparison, Operand, Part, Path, PathStep } from './parse.ts';

/** How many more values may be looked at. */
export interface PathBudget {
  left: number;
}

/** A path looks at more values than it may. */
export class PathTooCostly extends Error {
  override readonly name = 'PathTooCostly';
}

/** Where a path comes from the user of this program itself. */
const unbounded = (): PathBudget => ({ left: Number.POSITIVE_INFINITY });

/**
 * Everything that a path finds, in order; what is not there is left out. Throws PathTooCostly: with several ".." or
 * lists of steps, a short path finds each value in very many ways.
 */
export function findAll(path: Path, root: Json, current: Json = root, budget: PathBudget = unbounded()): Json[] {
  let found: Json[] = [path.fromRoot ? root : current];
  for (const step of path.steps) {
    const next: Json[] = [];
    for (const value of found) {
      const taken = take(step, value, { root, budget });
      spend(budget, taken.length + 1);
      for (const each of taken) next.push(each);
    }
    found = next;
  }
  return found;
}

function spend(budget: PathBudget, values: number): void {
  budget.left -= values;
  if (budget.left < 0) throw new PathTooCostly('the path finds too many values');
}

/** The same. Throws INVALID_ARGUMENT for a key that is not there. */
export function findStrictly(path: Path, root: Json, current: Json = root): Json[] {
  let found: Json[] = [path.fromRoot ? root : current];
  for (const step of path.steps)
    found = found.flatMap((value) => {
      const taken = take(step, value, { root, budget: unbounded() });
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

interface Search {
  readonly root: Json;
  readonly budget: PathBudget;
}

function take(step: PathStep, value: Json, search: Search): Json[] {
  switch (step.type) {
    case 'key':
      return field(value, step.name, step.quoted);
    case 'everything':
      return children(value);
    case 'anywhere':
      return descendants(value, search.budget);
    case 'slice':
      return Array.isArray(value) ? slice(value, step) : [];
    case 'union':
      return step.steps.flatMap((each) => {
        const taken = take(each, value, search);
        spend(search.budget, taken.length + 1);
        return taken;
      });
    case 'filter':
      return (Array.isArray(value) ? value : []).filter((item) => matches(step, item, search));
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

function descendants(value: Json, budget: PathBudget): Json[] {
  const found: Json[] = [];
  const add = (each: Json): void => {
    spend(budget, 1);
    found.push(each);
    for (const child of children(each)) add(child);
  };
  add(value);
  return found;
}

function slice(
  list: readonly Json[],
  { from, to, by }: { from: number | undefined; to: number | undefined; by: number },
): Json[] {
  return list.slice(from, to).filter((_, at) => at % by === 0);
}

function matches(step: Extract<PathStep, { type: 'filter' }>, item: Json, search: Search): boolean {
  spend(search.budget, 1);
  const left = values(step.left, item, search);
  if (!step.comparison || !step.right) return left.length > 0;
  const right = values(step.right, item, search);
  spend(search.budget, left.length * right.length);
  return left.some((a) => right.some((b) => compare(a, step.comparison as Comparison, b)));
}

function values(operand: Operand, item: Json, { root, budget }: Search): Json[] {
  return 'path' in operand ? findAll(operand.path, root, item, budget) : [operand.literal];
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
