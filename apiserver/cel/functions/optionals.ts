import type { Budget } from '../budget.ts';
import { isList, isMap, lengthOf, sizeOfMap } from '../equality.ts';
import { CelError, failed, Optional, Uint, type Value } from '../values.ts';
import type { Library } from './library.ts';

function optionalArg(value: Value | undefined): Optional {
  if (value instanceof Optional) return value;
  throw new CelError('no such overload: the value is not optional');
}

function isZero(value: Value, budget: Budget): boolean {
  if (isList(value)) return lengthOf(value) === 0;
  if (isMap(value)) return sizeOfMap(value, budget) === 0;
  if (value instanceof Uint) return value.value === 0n;
  return value === null || value === '' || value === 0 || value === 0n || value === false;
}

/** CEL's optional values; or(), orValue(), optMap() and optFlatMap() are macros. */
export const optionals: Library = {
  name: 'optionals',
  signatures: ['OptionalNamespace.ofNonZeroValue(A): optional<A>'],
  handlers: {
    'optional.of': ([value]) => new Optional(value),
    'optional.none': () => Optional.none,
    'optional.ofNonZeroValue': ([value], budget) => (isZero(value!, budget) ? Optional.none : new Optional(value)),
    hasValue: ([value]) => optionalArg(value).value !== undefined,
    value: ([value]) => optionalArg(value).value ?? failed('the optional value is empty'),
  },
};
