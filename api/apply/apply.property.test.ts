import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FieldSet, SELF } from '../meta/field-set.ts';
import type { Json, JsonObject } from '../meta/merge-patch.ts';
import { computeApply, type OwnedFields } from './apply.ts';
import { atomic, type FieldType, type MapType, set } from './field-type.ts';

// Random histories of managers against a reference that knows no trees: an object is a map of paths to leaves, where
// items of lists and keys of maps are paths of their own; what each manager owns is a set of paths.

type Flat = Map<string, string>;
const PRESENT = '(present)';

const record = (members: Record<string, FieldType>): MapType => ({
  kind: 'map',
  member: (name) => members[name],
  declares: (name) => Object.hasOwn(members, name),
});
const mapOf = (value: FieldType): MapType => ({ kind: 'map', member: () => value, declares: () => false });

const item = record({ name: atomic, v: atomic, in: record({ x: atomic, y: atomic }), tags: set });
const schema = record({
  a: atomic,
  one: atomic,
  s: record({ x: atomic, y: atomic, deep: record({ z: atomic }) }),
  m: mapOf(atomic),
  l: { kind: 'listMap', keys: ['name'], defaults: {}, item: () => item },
  t: set,
});

const few = fc.constantFrom('1', '2', '3');
const optional = (members: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<JsonObject> =>
  fc.record(members, { requiredKeys: [] }) as fc.Arbitrary<JsonObject>;
const filled = (members: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<JsonObject> =>
  optional(members).filter((value) => Object.keys(value).length > 0);
const values = fc.uniqueArray(few, { minLength: 1, maxLength: 3 });
const items = fc.uniqueArray(
  fc.tuple(few, optional({ v: few, in: filled({ x: few, y: few }), tags: values })).map(([name, more]) => ({ name, ...more })),
  { minLength: 1, maxLength: 3, selector: ({ name }) => name },
);
const config = optional({
  a: few,
  one: fc.constantFrom(['1'], ['1', '2'], { p: '1' }),
  s: filled({ x: few, y: few, deep: filled({ z: few }) }),
  m: fc.dictionary(few, few, { minKeys: 1 }),
  l: items,
  t: values,
});
const apply = fc.record({ manager: fc.constantFrom('ada', 'bob', 'eve'), config, force: fc.boolean() });

/** The paths of an object, e.g. "s/x", "l/[1]", "l/[1]/v". */
function flatten(value: Json, prefix = '', flat: Flat = new Map()): Flat {
  for (const [name, member] of Object.entries(value as JsonObject)) {
    const path = `${prefix}${name}`;
    if (member === null) continue;
    if (name === 'm') for (const [key, text] of Object.entries(member as JsonObject)) flat.set(`${path}/{${key}}`, String(text));
    else if (name === 't' || name === 'tags') for (const each of member as Json[]) flat.set(`${path}/=${each}`, PRESENT);
    else if (name === 'l')
      for (const each of member as JsonObject[]) {
        flat.set(`${path}/[${each.name}]`, PRESENT);
        flatten(each, `${path}/[${each.name}]/`, flat);
      }
    else if (name === 's' || name === 'in' || name === 'deep') flatten(member, `${path}/`, flat);
    else flat.set(path, JSON.stringify(member));
  }
  return flat;
}

/** The paths of a set. */
function pathsOf(fields: FieldSet, prefix = ''): string[] {
  return Object.entries(fields).flatMap(([step, below]) => {
    if (step === SELF) return [];
    const text = step.slice(2);
    const name = step.startsWith('k:') ? `[${JSON.parse(text).name}]` : step.startsWith('v:') ? `=${JSON.parse(text)}` : text;
    const path = prefix + (prefix === 'm/' ? `{${name}}` : name);
    const isNamed = Object.keys(below).length === 0 || Object.hasOwn(below, SELF);
    return [...(isNamed ? [path] : []), ...pathsOf(below, `${path}/`)];
  });
}

interface State {
  readonly live: Flat;
  readonly owned: ReadonlyMap<string, ReadonlySet<string>>;
}

const partsOf = (path: string): string[] => path.split('/').map((_, i, steps) => steps.slice(0, i + 1).join('/'));
/** Records that hold a path; lists and maps that do so are never owned. */
const recordsAbove = (path: string): string[] => partsOf(path).filter((each) => /(^|\/)(s|in|deep)$/.test(each));
const listsAbove = (path: string): string[] => partsOf(path).filter((each) => /(^|\/)(m|l|t|tags)$/.test(each));
const withParents = (paths: Iterable<string>): Set<string> =>
  new Set([...paths].flatMap((path) => [path, ...recordsAbove(path), ...listsAbove(path)]));
const isBelow = (path: string, roots: ReadonlySet<string>): boolean => partsOf(path).some((each) => roots.has(each));

/** Undefined: conflicts. */
function referenceApply({ live, owned }: State, manager: string, wanted: Flat, force: boolean): State | undefined {
  const last = owned.get(manager) ?? new Set();
  const merged: Flat = new Map([...live, ...wanted]);
  const others = [...owned].filter(([name]) => name !== manager);
  const all = withParents(merged.keys());
  const allOwned = withParents([...wanted.keys(), ...others.flatMap(([, paths]) => [...paths])]);
  const given = withParents(last);
  const left = withParents([...merged.keys()].filter((path) => !isBelow(path, given)));
  const unowned = new Set([...all].filter((path) => !left.has(path) && !allOwned.has(path)));
  const pruned = withParents([...merged.keys()].filter((path) => !isBelow(path, unowned)));
  const gone = new Set([...all].filter((path) => !pruned.has(path) && given.has(path)));
  const next: Flat = new Map([...merged].filter(([path]) => !isBelow(path, gone)));
  const changed = new Set([...next].filter(([path, value]) => live.get(path) !== value).map(([path]) => path));
  const conflict = others.some(([, paths]) => [...paths].some((path) => changed.has(path)));
  if (conflict && !force) return undefined;
  const after = new Map<string, ReadonlySet<string>>(
    others.map(([name, paths]) => [name, new Set([...paths].filter((path) => !changed.has(path) && next.has(path)))] as const),
  );
  after.set(manager, new Set(wanted.keys()));
  return { live: next, owned: new Map([...after].filter(([, paths]) => paths.size > 0)) };
}

const flatOwned = (owned: OwnedFields): [string, string[]][] =>
  [...owned].map(([name, fields]): [string, string[]] => [name, pathsOf(fields).sort()]).sort(([a], [b]) => (a < b ? -1 : 1));
const sorted = (map: ReadonlyMap<string, string>): [string, string][] => [...map].sort(([a], [b]) => (a < b ? -1 : 1));

function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)]));
}

describe('random histories of managers that apply', () => {
  it('end as a reference on flat paths says', () => {
    fc.assert(
      fc.property(fc.array(apply, { minLength: 2, maxLength: 8 }), (history) => {
        let live: JsonObject = {};
        let owned: OwnedFields = new Map();
        let reference: State = { live: new Map(), owned: new Map() };
        for (const { manager, config: wanted, force } of history) {
          const expected = referenceApply(reference, manager, flatten(wanted), force);
          const outcome = computeApply({ type: schema, live, config: wanted, owned, applier: manager, force });
          expect(outcome.kind).toBe(expected ? 'applied' : 'conflicts');
          if (outcome.kind === 'conflicts' || !expected) continue;
          live = withoutNulls(outcome.object) as JsonObject;
          owned = outcome.owned;
          reference = expected;
          expect(sorted(flatten(live))).toEqual(sorted(reference.live));
          expect(flatOwned(owned)).toEqual(
            [...reference.owned].map(([name, paths]) => [name, [...paths].sort()]).sort(([a], [b]) => (a! < b! ? -1 : 1)),
          );
        }
      }),
      { numRuns: process.env.BERTH_CHAOS === 'long' ? 20_000 : 60 },
    );
  });

  it('hold what was applied last, and change nothing when it is applied again', () => {
    fc.assert(
      fc.property(fc.array(apply, { minLength: 1, maxLength: 6 }), (history) => {
        let live: JsonObject = {};
        let owned: OwnedFields = new Map();
        for (const { manager, config: wanted } of history) {
          const input = { type: schema, live, config: wanted, owned, applier: manager };
          const outcome = computeApply({ ...input, force: true });
          if (outcome.kind === 'conflicts') throw new Error('a forced apply had conflicts');
          const flat = flatten(outcome.object);
          for (const [path, value] of flatten(wanted)) expect(flat.get(path)).toBe(value);
          const again = computeApply({ ...input, live: outcome.object, owned: outcome.owned, force: false });
          expect(again).toEqual({ kind: 'applied', object: outcome.object, owned: outcome.owned });
          expect(again.kind === 'applied' && again.object).toBe(outcome.object);
          [live, owned] = [outcome.object, outcome.owned];
        }
      }),
      { numRuns: 30 },
    );
  });
});
