import type { Budget } from '../budget.ts';
import { CelError, type Value } from '../values.ts';

/** Computes a function of values; the receiver of `a.f(b)` is the first. Takes steps for what it looks at. */
export type Handler = (args: readonly Value[], budget: Budget) => Value;

/** Functions that belong together, as Kubernetes names its CEL libraries. */
export interface Library {
  readonly name: string;
  /** Types of its own, and the classes of their values. */
  readonly types?: Readonly<Record<string, new (...args: never[]) => object>>;
  /** Fields of these types, by the type's name. */
  readonly fields?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Names that stand before functions: `sets.contains(a, b)`. */
  readonly namespaces?: readonly string[];
  /** What the parser does not know by itself; types are checked by it where a rule is defined. */
  readonly signatures: readonly string[];
  /** By name; of functions of a namespace "sets.contains". */
  readonly handlers: Readonly<Record<string, Handler>>;
}

export function textArg(value: Value | undefined): string {
  if (typeof value === 'string') return value;
  throw new CelError('no such overload: the argument must be a string');
}

export function intArg(value: Value | undefined): bigint {
  if (typeof value === 'bigint') return value;
  throw new CelError('no such overload: the argument must be an int');
}

/** A value of a library's own type; `noun` names it with its article. */
export function opaqueArg<T>(type: abstract new (...args: never[]) => T, noun: string, value: Value | undefined): T {
  if (value instanceof type) return value;
  throw new CelError(`no such overload: the value must be ${noun}`);
}

/** The same handlers, for work that takes longer than a step. */
export function withSteps(steps: number, handlers: Readonly<Record<string, Handler>>): Record<string, Handler> {
  const taking =
    (handler: Handler): Handler =>
    (args, budget) => {
      budget.take(steps);
      return handler(args, budget);
    };
  return Object.fromEntries(Object.entries(handlers).map(([name, handler]) => [name, taking(handler)]));
}

/** Takes the steps of looking for a part in a text: the product of both, as Kubernetes counts it. */
export function searchText(budget: Budget, text: string, part: string): void {
  budget.take(Math.ceil(text.length / 10) * Math.max(1, Math.ceil(part.length / 10)));
}

/** Takes the steps of looking at texts: one for ten characters, as Kubernetes counts them. */
export function readTexts(budget: Budget, ...texts: string[]): void {
  budget.take(Math.ceil(texts.reduce((sum, text) => sum + text.length, 0) / 10));
}
