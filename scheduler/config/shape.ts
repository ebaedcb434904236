import type { JsonReader } from '../../api/codec/json-reader.ts';
import { nearestWord } from '../../api/codec/nearest.ts';
import { isJsonObject } from '../../api/meta/merge-patch.ts';

/**
 * What a value of a configuration must look like, as data: made of the functions below, and read once, when the
 * scheduler starts. Every problem is reported to the reader, which knows the position.
 */
export interface Shape<T> {
  /** The value, or undefined when it is invalid; the problem was then reported to the reader. */
  read(value: unknown, at: JsonReader): T | undefined;
}

/** A field of a record that must be there. */
export interface RequiredShape<T> extends Shape<T> {
  readonly isRequired: true;
}

/** What comes out of a shape. */
export type ValueOf<S> = S extends Shape<infer T> ? T : never;

export type Fields = Readonly<Record<string, Shape<unknown>>>;
type RequiredNames<F extends Fields> = { [K in keyof F]: F[K] extends RequiredShape<unknown> ? K : never }[keyof F];

/** What a record of these fields holds. */
export type RecordOf<F extends Fields> = { readonly [K in RequiredNames<F>]: ValueOf<F[K]> } & {
  readonly [K in Exclude<keyof F, RequiredNames<F>>]?: ValueOf<F[K]>;
};

/**
 * Named fields, each optional unless it is `required`. Others are refused; `hints` says of some what to write instead.
 */
export function record<F extends Fields>(fields: F, hints: Readonly<Record<string, string>> = {}): Shape<RecordOf<F>> {
  const names = Object.keys(fields);
  return {
    read(value, at) {
      if (!isJsonObject(value)) return at.wrong('an object', value);
      for (const name of Object.keys(value)) {
        if (Object.hasOwn(fields, name)) continue;
        const hint = Object.hasOwn(hints, name) ? `; ${hints[name]}` : wordKnown(name, names);
        at.refuse(`unknown field${hint}`, stepTo(name));
      }
      const found: Record<string, unknown> = {};
      let isWhole = true;
      for (const [name, shape] of Object.entries(fields)) {
        const given = value[name];
        const isThere = given !== undefined && given !== null;
        if (isThere) found[name] = at.within(stepTo(name), given, (each) => shape.read(each, at));
        else if ('isRequired' in shape) at.refuse('is required', stepTo(name));
        if (found[name] === undefined && (isThere || 'isRequired' in shape)) isWhole = false;
      }
      return isWhole ? (found as RecordOf<F>) : undefined;
    },
  };
}

export function required<T>(shape: Shape<T>): RequiredShape<T> {
  return { read: (value, at) => shape.read(value, at), isRequired: true };
}

/** A list of such values; usable when all of them are. */
export function list<T>(item: Shape<T>): Shape<readonly T[]> {
  return {
    read(value, at) {
      if (!Array.isArray(value)) return at.wrong('a list', value);
      const items = value.map((each, i) => at.within(i, each, () => item.read(each, at)));
      return items.every((each) => each !== undefined) ? (items as T[]) : undefined;
    },
  };
}

/** A text that is not empty. */
export function text(): Shape<string> {
  return {
    read(value, at) {
      if (typeof value !== 'string') return at.wrong('a text', value);
      return value === '' ? at.refuse('must not be empty') : value;
    },
  };
}

/** One of these words. */
export function word<const W extends string>(...words: readonly W[]): Shape<W> {
  return {
    read(value, at) {
      if (typeof value !== 'string') return at.wrong('a text', value);
      return words.find((each) => each === value) ?? at.refuse(`unknown value "${value}"${wordKnown(value, words)}`);
    },
  };
}

export function flag(): Shape<boolean> {
  return { read: (value, at) => (typeof value === 'boolean' ? value : at.wrong('true or false', value)) };
}

/** A number between these, both included. */
export function number(least: number, most: number): Shape<number> {
  return {
    read(value, at) {
      if (typeof value !== 'number' || Number.isNaN(value)) return at.wrong('a number', value);
      return value >= least && value <= most ? value : at.refuse(`must be from ${least} to ${most}, found ${value}`);
    },
  };
}

/** A whole number between these, both included. */
export function whole(least: number, most: number): Shape<number> {
  const inRange = number(least, most);
  return {
    read(value, at) {
      const found = inRange.read(value, at);
      return found === undefined || Number.isInteger(found) ? found : at.refuse(`must be a whole number, found ${found}`);
    },
  };
}

/** The shape with one rule more: `check` says how a value breaks it, or nothing. */
export function refine<T>(shape: Shape<T>, check: (value: T) => string | undefined): Shape<T> {
  return {
    read(value, at) {
      const found = shape.read(value, at);
      const wrong = found === undefined ? undefined : check(found);
      return wrong === undefined ? found : at.refuse(wrong);
    },
  };
}

/** Any value, unchecked: the plugin reads it. */
export const anything: Shape<unknown> = { read: (value) => value };

/** Behind "unknown ...": which word was probably meant, and which there are. */
export function wordKnown(name: string, known: readonly string[]): string {
  if (known.length === 0) return '; there are none here';
  const near = nearestWord(name, known);
  const list = [...known].sort().join(', ');
  return near === undefined ? `; there are ${list}` : `; did you mean "${near}"? There are ${list}`;
}

/** Names that look like a path stand in brackets. */
function stepTo(name: string): string {
  return /[./[\]]/.test(name) ? `[${name}]` : name;
}
