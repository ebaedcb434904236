import { type FieldShape, type MessageShape, messageShape, shapesTo } from '../codec/message-shapes.ts';
import type { FieldViolation } from '../errors/api-error.ts';
import { forbidden } from '../errors/violations.ts';

/**
 * Whether Berth acts on a field, accepts it with a warning, or refuses it; `why` is a clause that ends the sentence.
 */
export type FieldSupport = { readonly support: 'works' } | UnsupportedField;

/** A field that Berth does not act on. */
export interface UnsupportedField {
  readonly support: 'warned' | 'refused';
  readonly why: string;
  /**
   * The values that ask for nothing and are passed over; false and "" where not said, which is wrong where false asks
   * for something.
   */
  readonly unless?: readonly unknown[];
}

export const works: FieldSupport = { support: 'works' };

/** `unless`: the values that ask for nothing, where those are not false and "". */
export function warned(why: string, ...unless: unknown[]): FieldSupport {
  return { support: 'warned', why, ...(unless.length > 0 && { unless }) };
}

export function refused(why: string, ...unless: unknown[]): FieldSupport {
  return { support: 'refused', why, ...(unless.length > 0 && { unless }) };
}

/**
 * What Berth does with the fields of a kind, by path in the JSON form: "spec.containers[].livenessProbe"; a map is one
 * field. What stands below a listed path inherits from it unless it is listed itself; an unlisted path works.
 */
export type FieldSupportTable = Readonly<Record<string, FieldSupport>>;

/** A table as a tree by in-memory names, ready to be walked beside an object. */
export interface CompiledFieldSupport {
  readonly children: Map<string, CompiledFieldSupport>;
  support?: FieldSupport;
  /** An inlined message: a step in memory that the JSON form does not show. */
  hidden?: boolean;
}

/**
 * Compiles a table for a message. Throws for a path that the message does not have, so that a table cannot go stale
 * unseen.
 */
export function compileFieldSupport(messageName: string, table: FieldSupportTable): CompiledFieldSupport {
  const root: CompiledFieldSupport = { children: new Map() };
  for (const [path, support] of Object.entries(table)) insert(root, messageShape(messageName), path, support);
  prune(root, false);
  return root;
}

/** Compiles the table when it is first used: programs that only name a kind do not pay for it. */
export function lazyFieldSupport(messageName: string, table: FieldSupportTable): () => CompiledFieldSupport {
  let compiled: CompiledFieldSupport | undefined;
  return () => {
    compiled ??= compileFieldSupport(messageName, table);
    return compiled;
  };
}

function insert(root: CompiledFieldSupport, message: MessageShape, path: string, support: FieldSupport): void {
  let [at, type]: [CompiledFieldSupport, MessageShape | undefined] = [root, message];
  for (const step of path.split('.')) {
    const name = step.replace(/\[\]$/, '');
    const found: readonly FieldShape[] | undefined = type && shapesTo(type, name);
    const field: FieldShape | undefined = found?.at(-1);
    if (!found || !field || field.repeated !== step.endsWith('[]')) {
      throw new Error(`field support: no field "${step}" of "${path}" in ${message.name}; write lists as "name[]"`);
    }
    for (const each of found) at = childOf(at, each);
    type = field.keyType === undefined ? field.message() : undefined;
  }
  at.support = support;
}

function childOf(at: CompiledFieldSupport, field: FieldShape): CompiledFieldSupport {
  let child = at.children.get(field.name);
  if (!child) {
    child = { children: new Map(), hidden: field.inline };
    at.children.set(field.name, child);
  }
  return child;
}

/** Drops the branches that never say anything; tells whether the step does. */
function prune(step: CompiledFieldSupport, inherited: boolean): boolean {
  const speaks = step.support ? step.support.support !== 'works' : inherited;
  for (const [name, child] of step.children) if (!prune(child, speaks) && !speaks) step.children.delete(name);
  return speaks || step.children.size > 0;
}

/** What a table says of a path; "partly" when it says different things of what stands below. An unlisted path works. */
export function supportOf(table: FieldSupportTable, path: string): FieldSupport | 'partly' {
  const steps = path.split('.');
  for (let length = steps.length; length > 0; length--) {
    const found = table[steps.slice(0, length).join('.')];
    if (found) return found;
  }
  const below = Object.entries(table).filter(([listed]) => listed.startsWith(`${path}.`));
  return below.every(([, { support }]) => support === 'works') ? works : 'partly';
}

/** The warnings of a kind by its table; for kinds that refuse nothing, whose validation need not ask it. */
export function fieldWarnings(messageName: string, table: FieldSupportTable): (object: object) => string[] {
  const support = lazyFieldSupport(messageName, table);
  return (object) => checkFieldSupport(support(), object).warnings;
}

/**
 * What a table says of an object: a sentence for each field that is set and only warned about, a violation for each
 * refused one.
 */
export interface FieldSupportFindings {
  readonly warnings: string[];
  readonly violations: FieldViolation[];
}

/**
 * Walks an object beside a compiled table. Costs nothing where the table says nothing, and little for an object of
 * which it says nothing.
 */
export function checkFieldSupport(support: CompiledFieldSupport, object: object): FieldSupportFindings {
  const findings: FieldSupportFindings = { warnings: [], violations: [] };
  if (isMentioned(support, object)) walk(support, object, '', findings);
  return findings;
}

/** Whether `walk` would find something; without paths and lists, because for most objects it finds nothing. */
function isMentioned(step: CompiledFieldSupport, value: unknown): boolean {
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (isMentioned(step, value[i])) return true;
    return false;
  }
  if (value === undefined || asksNothing(step).includes(value)) return false;
  const speaks = step.support !== undefined && step.support.support !== 'works';
  if (speaks || typeof value !== 'object' || value === null) return speaks;
  for (const key in value) {
    const child = step.children.get(key);
    if (child && isMentioned(child, (value as Record<string, unknown>)[key])) return true;
  }
  return false;
}

function walk(step: CompiledFieldSupport, value: unknown, path: string, findings: FieldSupportFindings): void {
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) walk(step, value[i], `${path}[${i}]`, findings);
    return;
  }
  if (value === undefined || asksNothing(step).includes(value)) return;
  let unlisted = typeof value !== 'object' || value === null;
  if (!unlisted) {
    const keys = Object.keys(value as object);
    unlisted = keys.length === 0;
    for (const key of keys) {
      const child = step.children.get(key);
      if (!child) unlisted = true;
      else
        walk(
          child,
          (value as Record<string, unknown>)[key],
          child.hidden ? path : path === '' ? key : `${path}.${key}`,
          findings,
        );
    }
  }
  if (unlisted && step.support) report(step.support, path, findings);
}

const nothing: readonly unknown[] = [false, ''];

function asksNothing({ support }: CompiledFieldSupport): readonly unknown[] {
  return support && support.support !== 'works' ? (support.unless ?? nothing) : nothing;
}

function report(support: FieldSupport, path: string, findings: FieldSupportFindings): void {
  if (support.support === 'warned') findings.warnings.push(`${path} is not acted on: ${support.why}`);
  if (support.support === 'refused') findings.violations.push(forbidden(path, support.why));
}
