import type { Budget } from './budget.ts';
import { isList, isMap, itemAt, lengthOf } from './equality.ts';
import { failed, Optional, type Value } from './values.ts';

/** Steps of a failure that does not end the evaluation. */
export const FAILURE_STEPS = 50;

/** What an evaluation works on: the values of variables by their slots, and the steps that are left. */
export interface Frame {
  readonly slots: (Value | undefined)[];
  readonly budget: Budget;
}

/** A compiled expression. Throws CelError where the expression fails, BudgetExceeded where it costs too much. */
export type Code = (frame: Frame) => Value;

/** Names of variables and their slots; a comprehension adds its own. */
export class Scope {
  readonly #slots: ReadonlyMap<string, number>;
  /** Shared by a scope and those within: how many slots a frame needs. */
  readonly #count: { value: number };

  constructor(names: readonly string[]);
  constructor(slots: ReadonlyMap<string, number>, count: { value: number });
  constructor(names: readonly string[] | ReadonlyMap<string, number>, count?: { value: number }) {
    this.#slots = names instanceof Map ? names : new Map((names as readonly string[]).map((name, slot) => [name, slot]));
    this.#count = count ?? { value: this.#slots.size };
  }

  slotOf(name: string): number | undefined {
    return this.#slots.get(name);
  }

  /** A scope within, with one more variable. */
  with(name: string): { scope: Scope; slot: number } {
    const slot = this.#count.value++;
    return { scope: new Scope(new Map([...this.#slots, [name, slot]]), this.#count), slot };
  }
}

/** An expression uses what this server does not support: refused where it is defined. */
export class UnsupportedExpression extends Error {
  override readonly name = 'UnsupportedExpression';
}

export function truth(value: Value): boolean {
  return typeof value === 'boolean' ? value : failed('no such overload: a condition must be true or false');
}

/** What a comprehension runs over: a list's items, or a map's keys. An item becomes a value when its turn comes. */
export function rangeOf(value: Value, budget: Budget): { readonly length: number; at(index: number): Value } {
  if (isList(value)) return { length: lengthOf(value), at: (index) => itemAt(value, index, budget)! };
  if (!isMap(value)) return failed('no such overload: only lists and maps can be run over');
  const keys = value.keys(budget);
  return { length: keys.length, at: (index) => keys[index]! };
}

export function hasMember(collection: Value, name: string, budget: Budget): boolean {
  const inner = collection instanceof Optional ? collection.value : collection;
  if (inner === undefined) return false;
  if (!isMap(inner)) return failed('no such overload: has() needs an object');
  return inner.get(name, budget) !== undefined;
}
