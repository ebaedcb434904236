import type { FieldViolation } from '../errors/api-error.ts';
import { unknownField, wrongType } from '../errors/violations.ts';

/** What a JSON value is, in words for people; of a text or number also which, unless it is confidential. */
export function describeJson(value: unknown, { showValues = true } = {}): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (!showValues) return `a ${typeof value}`;
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return `${typeof value} ${text.length > 60 ? `${text.slice(0, 60)}...` : text}`;
}

/** What Go's decoder calls a JSON value in its errors. */
function goTypeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean') return 'bool';
  return value === null ? 'null' : typeof value;
}

/**
 * Of each sort, unknown fields and wrong values, so many are told. A document of megabytes may hold hundreds of
 * thousands, and telling what each of them may have meant keeps the server busy for seconds.
 */
const mostOfEach = 100;

/** Walks a JSON document: knows where it is, and collects what is wrong. One reader a document. */
export class JsonReader {
  readonly violations: FieldViolation[] = [];
  private unknownCount = 0;
  private wrongCount = 0;
  private readonly path: (string | number)[] = [];
  private readonly showValues: boolean;

  constructor({ showValues = true }: { readonly showValues?: boolean } = {}) {
    this.showValues = showValues;
  }

  /** Reads a part, with its place added to the path for as long as that takes. `[name]` is a key of a map. */
  within<V, R>(step: string | number, value: V, read: (value: V, at: JsonReader) => R): R {
    this.path.push(step);
    const result = read(value, this);
    this.path.pop();
    return result;
  }

  wrong(expected: string, value: unknown): undefined {
    if (++this.wrongCount > mostOfEach) return undefined;
    const found = describeJson(value, { showValues: this.showValues });
    this.violations.push(wrongType(this.field(), expected, found, goTypeOf(value)));
    return undefined;
  }

  /** The value here, or `steps` further down, breaks a rule; `why` says which, in words. */
  refuse(why: string, ...steps: (string | number)[]): undefined {
    if (++this.wrongCount > mostOfEach) return undefined;
    this.path.push(...steps);
    this.violations.push({ field: this.field(), description: why, reason: 'FieldValueInvalid' });
    this.path.length -= steps.length;
    return undefined;
  }

  /** `nearest` finds the field that may have been meant. */
  unknown(name: string, nearest: () => string | undefined): void {
    if (++this.unknownCount > mostOfEach) return;
    this.path.push(name);
    this.violations.push(unknownField(this.field(), nearest()));
    this.path.pop();
  }

  private field(): string {
    let text = '';
    for (const step of this.path) {
      if (typeof step === 'number') text += `[${step}]`;
      else text += text === '' || step.startsWith('[') ? step : `.${step}`;
    }
    return text;
  }
}
