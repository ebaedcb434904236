import { expect, test } from 'vitest';
import type { Json } from '../../api/meta/merge-patch.ts';
import { Budget, BudgetExceeded } from './budget.ts';
import { ExpressionError, expressionCompiler } from './environment.ts';
import { LIBRARIES } from './functions/index.ts';
import { CelError, celValue } from './values.ts';

const ROUNDS = process.env.BERTH_CHAOS === 'long' ? 100_000 : 3_000;
const STEPS = 20_000;
const FUNCTIONS = LIBRARIES.flatMap(({ handlers }) => Object.keys(handlers)).filter((name) => !name.includes('.'));
const NAMESPACED = LIBRARIES.flatMap(({ handlers }) => Object.keys(handlers)).filter((name) => name.includes('.'));
const OBJECT: Json = {
  text: 'some text, 10.0.0.1',
  date: '2024-02-29T10:00:00Z',
  list: [3, 1, 2, 'x', null, [1, 2], { a: 1 }],
  numbers: [5, 4, 3.5],
  map: { a: 1, b: [true], c: { d: 'e' } },
  big: 9_007_199_254_740_991,
  none: null,
};

test(`${ROUNDS} random expressions are refused, fail with a reason, or give a value, within their steps`, () => {
  let state = 7;
  const random = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 8) % below;
  };
  const pick = <Item>(items: readonly Item[]) => items[random(items.length)]!;
  const literals = [
    '1',
    '0',
    '-1',
    '1.5',
    '2u',
    '""',
    '"a"',
    '"10.0.0.0/8"',
    '"1.2.3"',
    '"1Gi"',
    '"(a+)+$"',
    '"1h"',
    'true',
    'null',
    'b"x"',
  ];
  const paths = Object.keys(OBJECT as object).map((name) => `self.${name}`);
  const expression = (depth: number): string => {
    const inner = () => expression(depth - 1);
    if (depth === 0) return random(2) === 0 ? pick(literals) : pick([...paths, 'self', 'self.missing', 'dyn(1)', 'i']);
    switch (random(11)) {
      case 0:
        return `(${inner()} ${pick(['+', '-', '*', '/', '%', '==', '!=', '<', '>=', 'in', '&&', '||'])} ${inner()})`;
      case 1:
        return `dyn(${inner()}).${pick(FUNCTIONS)}(${random(2) === 0 ? '' : inner()})`;
      case 2:
        return `${pick(FUNCTIONS)}(${inner()})`;
      case 3:
        return `${pick(NAMESPACED)}(${random(2) === 0 ? inner() : `${inner()}, ${inner()}`})`;
      case 4:
        return `dyn(${inner()}).${pick(['all', 'exists', 'map', 'filter', 'exists_one'])}(i, ${inner()})`;
      case 5:
        return `dyn(${inner()})[${inner()}]`;
      case 6:
        return `dyn(${inner()}).?a.orValue(${inner()})`;
      case 7:
        return `[${inner()}, ${inner()}]`;
      case 8:
        return `{${inner()}: ${inner()}}`;
      case 9:
        return `(dyn(${inner()}) == true ? dyn(${inner()}) : dyn(${inner()}))`;
      default:
        return `dyn(${inner()}).${pick(FUNCTIONS)}(${inner()}, ${inner()})`;
    }
  };
  const compiler = expressionCompiler({ variables: { self: 'dyn', i: 'dyn' } });
  const self = celValue(OBJECT, undefined, new Budget(STEPS, 'self'));
  const counts = { refused: 0, failed: 0, values: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    const source = expression(1 + random(4));
    const budget = new Budget(STEPS, source);
    try {
      compiler.compile(`dyn(${source})`, ['dyn']).evaluate({ self, i: 1n }, budget);
      counts.values++;
    } catch (error) {
      if (error instanceof ExpressionError) counts.refused++;
      else if (error instanceof CelError || error instanceof BudgetExceeded) counts.failed++;
      else throw new Error(`${source}: ${String(error)}`, { cause: error });
    }
  }
  expect(counts.values).toBeGreaterThan(ROUNDS / 20);
  expect(counts.failed).toBeGreaterThan(ROUNDS / 20);
}, 3_600_000);
