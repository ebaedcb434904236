import { type FieldSet, isEmptySet, SELF } from '../meta/field-set.ts';
import type { FieldType } from './field-type.ts';

// The algebra of sets of fields, member by member: what is below a field is another member. (field-set.ts has the
// operations in which a field stands for everything below it.)

const isNamed = (node: FieldSet): boolean => isEmptySet(node) || Object.hasOwn(node, SELF);

/** Undefined: neither the field nor anything below it is a member. */
function nodeOf(named: boolean, below: FieldSet): FieldSet | undefined {
  if (isEmptySet(below)) return named ? {} : undefined;
  return named ? { [SELF]: {}, ...below } : below;
}

function put(set: FieldSet, step: string, node: FieldSet | undefined): void {
  if (node !== undefined) set[step] = node;
}

const at = (set: FieldSet, step: string): FieldSet | undefined => (Object.hasOwn(set, step) ? set[step] : undefined);

/** The members of `a` that are none of `b`. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  const result: FieldSet = {};
  for (const step of Object.keys(a)) {
    if (step === SELF) continue;
    const [mine, other] = [a[step]!, at(b, step)];
    put(result, step, other === undefined ? mine : nodeOf(isNamed(mine) && !isNamed(other), difference(mine, other)));
  }
  return result;
}

/** The members of both. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  const result: FieldSet = {};
  for (const step of Object.keys(a)) {
    const other = step === SELF ? undefined : at(b, step);
    if (other === undefined) continue;
    const mine = a[step]!;
    put(result, step, nodeOf(isNamed(mine) && isNamed(other), intersection(mine, other)));
  }
  return result;
}

/** The set with the fields that the schema names, and below which it has members, as members of their own. */
export function withNamedParents(set: FieldSet, type: FieldType | undefined): FieldSet {
  const result: FieldSet = {};
  for (const step of Object.keys(set)) {
    const node = set[step]!;
    if (isEmptySet(node)) {
      result[step] = node;
      continue;
    }
    const below = withNamedParents(node, typeBelow(type, step));
    const isParent = step.startsWith('f:') && type?.kind === 'map' && type.declares(step.slice(2));
    put(result, step, nodeOf(isParent || isNamed(node), below));
  }
  return result;
}

function typeBelow(type: FieldType | undefined, step: string): FieldType | undefined {
  if (type?.kind === 'map') return step.startsWith('f:') ? type.member(step.slice(2)) : undefined;
  return type?.kind === 'listMap' ? type.item() : undefined;
}
