import { describe, expect, it } from 'vitest';
import { createChance } from '../random.ts';
import { apply, checkLinearizable, type Operation } from './checker.ts';

type Rest = Partial<Pick<Operation, 'value' | 'expected' | 'answer'>>;

/** An operation between two instants; no second one: no answer came. */
function op(type: Operation['type'], [invokedAt, returnedAt]: readonly [number, number?], rest: Rest = {}): Operation {
  const answer = rest.answer ?? (returnedAt === undefined ? 'unknown' : 'ok');
  return { type, invokedAt, returnedAt: returnedAt ?? Number.POSITIVE_INFINITY, ...rest, answer };
}

const isLinearizable = (...operations: Operation[]): boolean => checkLinearizable(operations).ok;

describe('the linearizability checker accepts', () => {
  it('what one client does after the other', () => {
    const found = isLinearizable(
      op('get', [1, 2], { answer: 'not-found' }),
      op('create', [3, 4], { value: 'a' }),
      op('swap', [5, 6], { expected: 'a', value: 'b' }),
      op('put', [7, 8], { value: 'c' }),
      op('get', [9, 10], { value: 'c' }),
      op('delete-swap', [11, 12], { expected: 'c' }),
      op('delete', [13, 14], { answer: 'not-found' }),
    );
    expect(found).toBe(true);
  });

  it('either value while a write runs, once the new one has not been seen', () => {
    const write = op('put', [3, 10], { value: 'b' });
    const created = op('create', [1, 2], { value: 'a' });
    expect(isLinearizable(created, write, op('get', [4, 5], { value: 'a' }), op('get', [6, 7], { value: 'b' }))).toBe(true);
    expect(isLinearizable(created, write, op('get', [4, 8], { value: 'b' }), op('get', [5, 9], { value: 'a' }))).toBe(true);
  });

  it('a write without an answer that happened, that did not, and that happened long after', () => {
    const created = op('create', [1, 2], { value: 'a' });
    const lost = op('put', [3], { value: 'b' });
    expect(isLinearizable(created, lost, op('get', [4, 5], { value: 'a' }))).toBe(true);
    expect(isLinearizable(created, lost, op('get', [4, 5], { value: 'b' }))).toBe(true);
    expect(isLinearizable(created, lost, op('get', [4, 5], { value: 'a' }), op('get', [6, 7], { value: 'b' }))).toBe(true);
    expect(isLinearizable(op('create', [1], { value: 'a' }), op('create', [2, 3], { value: 'b' }))).toBe(true);
  });
});

describe('the linearizability checker finds', () => {
  const created = op('create', [1, 2], { value: 'a' });

  it('a stale read', () => {
    expect(isLinearizable(created, op('put', [3, 4], { value: 'b' }), op('get', [5, 6], { value: 'a' }))).toBe(false);
  });

  it('a read that goes back behind another one', () => {
    const write = op('put', [3, 20], { value: 'b' });
    expect(isLinearizable(created, write, op('get', [4, 5], { value: 'b' }), op('get', [6, 7], { value: 'a' }))).toBe(false);
    const lost = op('put', [3], { value: 'b' });
    expect(isLinearizable(created, lost, op('get', [4, 5], { value: 'b' }), op('get', [6, 7], { value: 'a' }))).toBe(false);
  });

  it('a lost update: two swaps of one version that both succeed', () => {
    const swaps = [op('swap', [3, 6], { expected: 'a', value: 'b' }), op('swap', [4, 5], { expected: 'a', value: 'c' })];
    expect(isLinearizable(created, ...swaps)).toBe(false);
  });

  it('a lost create, and two creates that both succeed', () => {
    expect(isLinearizable(created, op('get', [3, 4], { answer: 'not-found' }))).toBe(false);
    expect(isLinearizable(created, op('create', [3, 4], { value: 'b' }))).toBe(false);
  });

  it('a refusal without a reason', () => {
    expect(isLinearizable(created, op('swap', [3, 4], { expected: 'a', value: 'b', answer: 'conflict' }))).toBe(false);
    expect(isLinearizable(op('create', [1, 2], { value: 'a', answer: 'exists' }))).toBe(false);
    expect(isLinearizable(created, op('delete', [3, 4], { answer: 'not-found' }))).toBe(false);
  });

  it('an object that comes back after its deletion', () => {
    expect(isLinearizable(created, op('delete', [3, 4]), op('get', [5, 6], { value: 'a' }))).toBe(false);
  });

  it('an ALREADY_EXISTS of a create that no read shows afterwards', () => {
    const running = op('create', [1, 10], { value: 'a' });
    const refused = op('create', [2, 3], { value: 'b', answer: 'exists' });
    expect(isLinearizable(running, refused, op('get', [4, 5], { answer: 'not-found' }))).toBe(false);
  });

  it('a value that was never written, and one from the future', () => {
    expect(isLinearizable(created, op('get', [3, 4], { value: 'z' }))).toBe(false);
    expect(isLinearizable(created, op('get', [3, 4], { value: 'b' }), op('put', [5, 6], { value: 'b' }))).toBe(false);
  });

  it('and says where it is stuck', () => {
    const stale = op('get', [5, 6], { value: 'a' });
    const verdict = checkLinearizable([created, op('put', [3, 4], { value: 'b' }), stale]);
    expect(verdict).toMatchObject({ ok: false, value: 'b', stuck: [stale] });
  });
});

describe('the linearizability checker, tried on chance', () => {
  /**
   * Clients at one true object, each operation taking effect somewhere between its two instants; some never hear of it.
   */
  function trueHistory(chance: ReturnType<typeof createChance>): Operation[] {
    let value: string | undefined;
    const seen: string[] = ['none'];
    return Array.from({ length: 60 }, (_, i) => {
      const at = 10 * i;
      const [invokedAt, returnedAt] = [at - chance.below(35), at + 1 + chance.below(35)];
      const type = chance.pick(['get', 'create', 'put', 'swap', 'swap', 'delete', 'delete-swap'] as const);
      const plan: Operation = {
        type,
        value: `v${i}`,
        expected: chance.pick(seen.slice(-3)),
        invokedAt,
        returnedAt,
        answer: 'ok',
      };
      if (type !== 'get' && chance.below(12) === 0) {
        if (chance.below(2) === 0) value = apply(plan, value).after;
        return { ...plan, returnedAt: Number.POSITIVE_INFINITY, answer: 'unknown' };
      }
      const before = value;
      const { after, answer } = apply(plan, value);
      value = after;
      if (after !== undefined) seen.push(after);
      return { ...plan, ...(type === 'get' ? { value: before } : {}), answer };
    });
  }

  it('accepts every true history, and finds a planted lie in most', () => {
    const chance = createChance('linearizability checker');
    let lies = 0;
    for (let round = 0; round < 300; round++) {
      const history = trueHistory(chance);
      expect(checkLinearizable(history)).toEqual({ ok: true });
      const reads = history.flatMap((each, index) => (each.type === 'get' && each.answer === 'ok' ? [index] : []));
      if (reads.length === 0) continue;
      const index = chance.pick(reads);
      // A read of the value of ten operations ago, or one that was never written.
      const changed = history.toSpliced(index, 1, { ...history[index]!, value: `v${index - 10}` });
      if (!checkLinearizable(changed).ok) lies++;
    }
    expect(lies).toBeGreaterThan(150);
  });
});
