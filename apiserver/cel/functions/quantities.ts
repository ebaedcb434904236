import {
  addQuantity,
  canonicalQuantity,
  compareQuantity,
  isQuantity,
  parseNanos,
  subtractQuantity,
} from '../../../api/meta/quantity.ts';
import { failed, Opaque, type Value } from '../values.ts';
import { type Library, opaqueArg, textArg, withSteps } from './library.ts';

/** Characters of a quantity; longer texts are none. */
const QUANTITY_CHARACTERS = 64;
/** Steps of reading a quantity. */
const QUANTITY_STEPS = 20;
const UNIT = 1_000_000_000n;

export class QuantityValue extends Opaque {
  override readonly typeName = 'kubernetes.Quantity';
  readonly text: string;

  constructor(text: string) {
    super();
    this.text = text;
  }

  override get identity(): string {
    return canonicalQuantity(this.text);
  }

  get nanos(): bigint {
    return parseNanos(this.text) ?? 0n;
  }
}

function parse(text: string): QuantityValue | undefined {
  return text.length <= QUANTITY_CHARACTERS && isQuantity(text) ? new QuantityValue(text) : undefined;
}

const quantityArg = (value: Value | undefined): QuantityValue => opaqueArg(QuantityValue, 'a quantity', value);

/** Another quantity, or a whole number. */
function amountArg(value: Value | undefined): string {
  return typeof value === 'bigint' ? String(value) : quantityArg(value).text;
}

function order([a, b]: readonly Value[]): number {
  return compareQuantity(quantityArg(a).text, quantityArg(b).text);
}

const Q = 'kubernetes.Quantity';

/** Kubernetes' quantity library. Its comparisons are shared with semver's. */
export const quantities: Library = {
  name: 'quantity',
  types: { [Q]: QuantityValue },
  signatures: [
    `quantity(string): ${Q}`,
    'isQuantity(string): bool',
    `${Q}.sign(): int`,
    `${Q}.isInteger(): bool`,
    `${Q}.asInteger(): int`,
    `${Q}.asApproximateFloat(): double`,
    ...['add', 'sub'].flatMap((name) => [`${Q}.${name}(${Q}): ${Q}`, `${Q}.${name}(int): ${Q}`]),
    ...['isLessThan', 'isGreaterThan'].map((name) => `${Q}.${name}(${Q}): bool`),
    `${Q}.compareTo(${Q}): int`,
  ],
  handlers: withSteps(QUANTITY_STEPS, {
    quantity: ([text]) => parse(textArg(text)) ?? failed('the text is no quantity such as "100m", "1.5" or "2Gi"'),
    isQuantity: ([text]) => parse(textArg(text)) !== undefined,
    sign: ([value]) => {
      const { nanos } = quantityArg(value);
      return nanos > 0n ? 1n : nanos < 0n ? -1n : 0n;
    },
    isInteger: ([value]) => quantityArg(value).nanos % UNIT === 0n,
    asInteger: ([value]) => {
      const { nanos } = quantityArg(value);
      return nanos % UNIT === 0n ? nanos / UNIT : failed('cannot convert value to integer');
    },
    asApproximateFloat: ([value]) => Number(quantityArg(value).nanos) / 1e9,
    add: ([a, b]) => new QuantityValue(textOf(addQuantity(quantityArg(a).text, amountArg(b)))),
    sub: ([a, b]) => new QuantityValue(textOf(subtractQuantity(quantityArg(a).text, amountArg(b)))),
    isLessThan: (args) => order(args) < 0,
    isGreaterThan: (args) => order(args) > 0,
    compareTo: (args) => BigInt(order(args)),
  }),
};

function textOf(quantity: { readonly string?: string }): string {
  return quantity.string ?? '0';
}
