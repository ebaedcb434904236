import { badRequest } from '../errors/constructors.ts';
import { invalidValue, shortened } from '../errors/violations.ts';
import type { LabelSelector } from '../generated/types.ts';
import { labelValueError, qualifiedNameError } from './names.ts';
import { checkSelectorLength, checkSelectorTerms } from './selector-bounds.ts';

export type Labels = Readonly<Record<string, string>>;

export type LabelOperator = 'in' | 'notin' | 'exists' | '!exists' | 'gt' | 'lt';

/** One condition of a selector. "=" and "!=" are "in" and "notin" with one value. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

/** A compiled selector: all requirements must hold. Without any, everything matches. */
export interface LabelMatcher {
  readonly requirements: readonly LabelRequirement[];
  matches(labels: Labels | undefined): boolean;
}

const noLabels: Labels = {};

function requirementMatches({ key, operator, values }: LabelRequirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case 'exists':
      return value !== undefined;
    case '!exists':
      return value === undefined;
    case 'in':
      return value !== undefined && values.includes(value);
    case 'notin':
      return value === undefined || !values.includes(value);
    case 'gt':
      return isInteger(value) && Number(value) > Number(values[0]);
    case 'lt':
      return isInteger(value) && Number(value) < Number(values[0]);
  }
}

function isInteger(text: string | undefined): boolean {
  return text !== undefined && /^[+-]?\d+$/.test(text);
}

/** Makes a matcher of requirements. */
export function labelMatcher(requirements: readonly LabelRequirement[]): LabelMatcher {
  return {
    requirements,
    matches(labels) {
      const own = labels ?? noLabels;
      for (const requirement of requirements) if (!requirementMatches(requirement, own)) return false;
      return true;
    },
  };
}

/**
 * Reads the text form of a selector: "app=web,tier in (a, b),!old,version!=3". Throws ApiError (invalid argument) that
 * says what is wrong and where, also for one that is too long or has too many terms.
 */
export function parseLabelSelector(text: string): LabelMatcher {
  checkSelectorLength('labelSelector', text);
  const parser = new SelectorParser(text);
  return labelMatcher(parser.parse());
}

const TOKEN = /\s*(!=|==|[=!(),<>]|[^\s=!(),<>]+)/y;
const PUNCTUATION = new Set(['!=', '==', '=', '!', '(', ')', ',', '<', '>']);

class SelectorParser {
  readonly #text: string;
  readonly #tokens: string[] = [];
  #at = 0;
  #terms = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): LabelRequirement[] {
    this.#tokenize();
    const requirements: LabelRequirement[] = [];
    while (this.#at < this.#tokens.length) {
      requirements.push(this.#requirement());
      if (this.#at < this.#tokens.length) {
        this.#expect(',');
        if (this.#at === this.#tokens.length) throw this.#error('expected another requirement after the last ","');
      }
    }
    return requirements;
  }

  #tokenize(): void {
    TOKEN.lastIndex = 0;
    const end = this.#text.trimEnd().length;
    while (TOKEN.lastIndex < end) this.#tokens.push(TOKEN.exec(this.#text)![1]!);
    TOKEN.lastIndex = 0;
  }

  #countTerm(): void {
    checkSelectorTerms('labelSelector', ++this.#terms);
  }

  #requirement(): LabelRequirement {
    this.#countTerm();
    if (this.#tokens[this.#at] === '!') {
      this.#at++;
      return { key: this.#key(), operator: '!exists', values: [] };
    }
    const key = this.#key();
    const operator = this.#tokens[this.#at];
    if (operator === undefined || operator === ',') return { key, operator: 'exists', values: [] };
    this.#at++;
    switch (operator) {
      case '=':
      case '==':
        return { key, operator: 'in', values: [this.#value(key)] };
      case '!=':
        return { key, operator: 'notin', values: [this.#value(key)] };
      case '>':
      case '<':
        return { key, operator: operator === '>' ? 'gt' : 'lt', values: [this.#integer(key)] };
      case 'in':
      case 'notin':
        return { key, operator, values: this.#values(key) };
      default:
        throw this.#error(`expected =, ==, !=, in, notin, < or > after "${key}", found "${shortened(operator)}"`);
    }
  }

  #key(): string {
    const token = this.#tokens[this.#at++];
    if (token === undefined || PUNCTUATION.has(token)) throw this.#error(`expected a label key, found ${describe(token)}`);
    const rule = qualifiedNameError(token);
    if (rule) throw this.#error(`"${shortened(token)}" is not a label key: ${rule}`);
    return token;
  }

  #value(key: string): string {
    const token = this.#tokens[this.#at];
    if (token === undefined || token === ',' || token === ')') return '';
    this.#at++;
    if (PUNCTUATION.has(token)) throw this.#error(`expected a value for "${key}", found "${token}"`);
    const rule = labelValueError(token);
    if (rule) throw this.#error(`"${shortened(token)}" is not a label value: ${rule}`);
    return token;
  }

  #integer(key: string): string {
    const value = this.#value(key);
    if (!isInteger(value)) throw this.#error(`"${key}" is compared with "${shortened(value)}", which is not an integer`);
    return value;
  }

  #values(key: string): string[] {
    this.#expect('(');
    const values = [this.#value(key)];
    while (this.#tokens[this.#at] === ',') {
      this.#at++;
      this.#countTerm();
      values.push(this.#value(key));
    }
    this.#expect(')');
    return values;
  }

  #expect(token: string): void {
    const found = this.#tokens[this.#at++];
    if (found !== token) throw this.#error(`expected "${token}", found ${describe(found)}`);
  }

  #error(why: string) {
    const message = `cannot read label selector "${shortened(this.#text)}": ${why}`;
    return badRequest(message, [invalidValue('labelSelector', this.#text, why)]);
  }
}

function describe(token: string | undefined): string {
  return token === undefined ? 'the end' : `"${shortened(token)}"`;
}

const OPERATORS: Readonly<Record<string, LabelOperator>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!exists',
};

/** Compiles a LabelSelector; undefined for one with an operator that does not exist. */
export function compileLabelSelector(selector: LabelSelector): LabelMatcher | undefined {
  const requirements: LabelRequirement[] = [];
  for (const [key, value] of Object.entries(selector.matchLabels ?? {}))
    requirements.push({ key, operator: 'in', values: [value] });
  for (const { key = '', operator = '', values = [] } of selector.matchExpressions ?? []) {
    const known = OPERATORS[operator];
    if (!known) return undefined;
    requirements.push({ key, operator: known, values });
  }
  return labelMatcher(requirements);
}

/** Kubernetes' meaning: an absent selector matches nothing, an empty one everything. */
export function labelSelectorMatches(selector: LabelSelector | undefined, labels: Labels | undefined): boolean {
  if (!selector) return false;
  return compileLabelSelector(selector)?.matches(labels) ?? false;
}

/**
 * A LabelSelector as text, in the order of the keys: "app=web,tier in (a,b),!old". "" for one that is absent, empty or
 * has an operator that does not exist.
 */
export function formatLabelSelector(selector: LabelSelector | undefined): string {
  const requirements = [...(compileLabelSelector(selector ?? {})?.requirements ?? [])];
  const equals = new Set(Object.keys(selector?.matchLabels ?? {}));
  const [byLabels, byExpressions] = [requirements.slice(0, equals.size), requirements.slice(equals.size)];
  const texts = [
    ...byLabels.map(({ key, values }) => [key, `${key}=${values[0]}`] as const),
    ...byExpressions.map((requirement) => [requirement.key, formatRequirement(requirement)] as const),
  ];
  return texts
    .sort(([a], [b]) => compareTexts(a, b))
    .map(([, text]) => text)
    .join(',');
}

function formatRequirement({ key, operator, values }: LabelRequirement): string {
  if (operator === 'exists') return key;
  return operator === '!exists' ? `!${key}` : `${key} ${operator} (${values.toSorted(compareTexts).join(',')})`;
}

/** Labels as text, in the order of the keys: "app=web,tier=a"; "" for none. */
export function formatLabels(labels: Labels | undefined): string {
  return formatLabelSelector({ matchLabels: { ...labels } });
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
