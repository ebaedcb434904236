import { badRequest } from '../errors/index.ts';

/**
 * One step of a path. A key may stand for several fields: "metadata.name" is read as a field of that name,
 * or else as two.
 */
export type PathStep =
  | { readonly type: 'key'; readonly name: string; readonly quoted: boolean }
  | { readonly type: 'everything' }
  | { readonly type: 'anywhere' }
  | { readonly type: 'slice'; readonly from: number | undefined; readonly to: number | undefined; readonly by: number }
  | { readonly type: 'union'; readonly steps: readonly PathStep[] }
  | { readonly type: 'filter'; readonly left: Operand; readonly comparison?: Comparison; readonly right?: Operand };

export type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>=';

/** A side of a comparison: a path from the item, or a literal. */
export type Operand = { readonly path: Path } | { readonly literal: string | number | boolean | null };

export interface Path {
  readonly fromRoot: boolean;
  readonly steps: readonly PathStep[];
}

/** A piece of a template. */
export type Part =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'path'; readonly path: Path }
  | { readonly type: 'range'; readonly path: Path; readonly body: readonly Part[] };

/** Reads a template as kubectl's `-o jsonpath=` has it: text, {.path}, {"text"}, {range .path}...{end}. */
export function parseTemplate(template: string): Part[] {
  if (!template.includes('{') && /^[.$[]/.test(template)) return [{ type: 'path', path: parsePath(template) }];
  const reader = new Reader(template);
  const parts = reader.parts(false);
  return parts;
}

/** Reads a single path, with or without braces: ".metadata.name", "{.metadata.name}". */
export function parsePath(text: string): Path {
  const inner = /^\s*\{(.*)\}\s*$/s.exec(text)?.[1] ?? text;
  const reader = new Reader(inner.trim().replace(/^(?![.$@[])/, '.'));
  const path = reader.path();
  reader.expectEnd();
  return path;
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Everything up to the end of the template, or of the range. */
  parts(inRange: boolean): Part[] {
    const parts: Part[] = [];
    for (;;) {
      const open = this.#text.indexOf('{', this.#at);
      const text = this.#text.slice(this.#at, open < 0 ? undefined : open);
      if (text !== '') parts.push({ type: 'text', text });
      if (open < 0) {
        this.#at = this.#text.length;
        if (inRange) throw this.#wrong('{range} has no {end}');
        return parts;
      }
      this.#at = open + 1;
      const part = this.#action(inRange);
      if (part === 'end') return parts;
      parts.push(...part);
    }
  }

  /** What stands in one pair of braces, behind its opening one. */
  #action(inRange: boolean): Part[] | 'end' {
    this.#space();
    if (this.#take(/end\s*\}/y)) {
      if (!inRange) throw this.#wrong('{end} has no {range}');
      return 'end';
    }
    if (this.#take(/range\s+/y)) {
      const path = this.path();
      this.#close();
      return [{ type: 'range', path, body: this.parts(true) }];
    }
    const parts: Part[] = [];
    while (!this.#take(/\s*\}/y)) {
      this.#space();
      const quoted = this.#quoted();
      parts.push(quoted === undefined ? { type: 'path', path: this.path() } : { type: 'text', text: quoted });
    }
    return parts;
  }

  path(): Path {
    const start = this.#at;
    const root = this.#take(/[$@]/y)?.[0];
    const steps: PathStep[] = [];
    for (;;) {
      if (this.#take(/\.\./y)) {
        steps.push({ type: 'anywhere' });
        const name = this.#name();
        if (name !== undefined) steps.push(name);
      } else if (this.#take(/\.(?=\[)/y)) {
        steps.push(this.#bracket());
      } else if (this.#take(/\./y)) {
        const name = this.#name();
        if (name) steps.push(name);
        else if (steps.length > 0) throw this.#wrong('a field name is missing');
      } else if (this.#text[this.#at] === '[') {
        steps.push(this.#bracket());
      } else break;
    }
    if (this.#at === start) throw this.#wrong('a path is expected, e.g. .metadata.name');
    return { fromRoot: root === '$', steps };
  }

  #name(): PathStep | undefined {
    const found = this.#take(/(?:\\.|[^\s.[\]{}()\\,=!<>'"])+/y)?.[0];
    if (found === undefined) return undefined;
    return found === '*' ? { type: 'everything' } : { type: 'key', name: found.replace(/\\(.)/g, '$1'), quoted: false };
  }

  #bracket(): PathStep {
    this.#at++;
    this.#space();
    if (this.#take(/\?\(/y)) return this.#filter();
    const steps: PathStep[] = [];
    do {
      this.#space();
      steps.push(this.#member());
      this.#space();
    } while (this.#take(/,/y));
    if (!this.#take(/\]/y)) throw this.#wrong('"]" is missing');
    return steps.length === 1 && steps[0] ? steps[0] : { type: 'union', steps };
  }

  #member(): PathStep {
    if (this.#take(/\*/y)) return { type: 'everything' };
    const key = this.#quoted();
    if (key !== undefined) return { type: 'key', name: key, quoted: true };
    const slice = this.#take(/(-?\d+)?\s*:\s*(-?\d+)?(?:\s*:\s*(\d+))?/y);
    if (slice) {
      const number = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text));
      return { type: 'slice', from: number(slice[1]), to: number(slice[2]), by: number(slice[3]) || 1 };
    }
    const index = this.#take(/-?\d+/y);
    if (index) {
      const from = Number(index[0]);
      return { type: 'slice', from, to: from === -1 ? undefined : from + 1, by: 1 };
    }
    throw this.#wrong("an index, '*', a quoted name or ?(...) is expected");
  }

  #filter(): PathStep {
    const left = this.#operand();
    this.#space();
    const comparison = this.#take(/==|!=|<=|>=|<|>/y)?.[0] as Comparison | undefined;
    const right = comparison && this.#operand();
    this.#space();
    if (!this.#take(/\)\s*\]/y)) throw this.#wrong('")]" is missing; a filter is one comparison, e.g. [?(@.type=="Ready")]');
    return { type: 'filter', left, ...(comparison && right ? { comparison, right } : {}) };
  }

  #operand(): Operand {
    this.#space();
    const quoted = this.#quoted();
    if (quoted !== undefined) return { literal: quoted };
    const word = this.#take(/-?\d+(?:\.\d+)?|true|false|null/y)?.[0];
    return word === undefined ? { path: this.path() } : { literal: JSON.parse(word) as number | boolean | null };
  }

  /** A text in quotes of either kind. */
  #quoted(): string | undefined {
    const found = this.#take(/"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'/sy);
    return found ? (found[1] ?? found[2] ?? '').replace(/\\(.)/gs, (_, letter: string) => escapes[letter] ?? letter) : undefined;
  }

  #close(): void {
    if (!this.#take(/\s*\}/y)) throw this.#wrong('"}" is missing');
  }

  expectEnd(): void {
    if (this.#at < this.#text.length) throw this.#wrong('the path should end here');
  }

  #space(): void {
    this.#take(/\s+/y);
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (!found) return undefined;
    this.#at += found[0].length;
    return found;
  }

  #wrong(why: string): Error {
    const rest = this.#text.slice(this.#at);
    const place = rest === '' ? 'at its end' : `before ${JSON.stringify(rest.length > 30 ? `${rest.slice(0, 30)}...` : rest)}`;
    return badRequest(`cannot read the path ${JSON.stringify(this.#text)} ${place}: ${why}`);
  }
}
